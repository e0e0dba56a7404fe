type Lines = string[][];
export const WAITS: {
  claude: Record<"401" | "503" | "529" | "refused", Lines>;
  codex: Record<"401" | "402" | "403" | "429" | "500" | "529" | "refused", Lines>;
  gemini: Record<"429" | "503" | "529" | "refused", Lines>;
  opencode: Record<"401" | "429" | "500" | "503" | "refused" | "title" | "unified", Lines>;
};
