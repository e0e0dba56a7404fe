/** Words of which one counts. `chosen` null: none of them. */
export function Choice<Word extends string>({
  label,
  words,
  chosen,
  onChoose,
  className = "",
}: {
  label: string;
  words: readonly Word[];
  chosen: Word | null;
  onChoose: (word: Word) => void;
  className?: string;
}) {
  return (
    <div class={`seg ${className}`} role="group" aria-label={label}>
      {words.map((word) => (
        <button
          key={word}
          type="button"
          aria-pressed={word === chosen}
          onClick={() => onChoose(word)}
        >
          {word}
        </button>
      ))}
    </div>
  );
}
