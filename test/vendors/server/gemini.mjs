// Google's generateContent, as gemini speaks it.
import { frames, inPieces, json, plain, textOf } from "./wire.mjs";

const isResult = ({ parts }) => parts?.some(({ functionResponse }) => functionResponse) ?? false;

export const gemini = {
  name: "gemini",
  fits: (path) => /:(stream)?generateContent$/i.test(path),

  hear(body, path) {
    const contents = body.contents ?? [];
    const prompt = contents.findLastIndex((one) => one.role !== "model" && !isResult(one));
    const answer = contents.findLastIndex(({ role }) => role === "model");
    return {
      model: /models\/([^:]+):/.exec(path)?.[1] ?? null,
      isStream: /:stream/i.test(path),
      tools: (body.tools ?? []).flatMap(({ functionDeclarations }) =>
        (functionDeclarations ?? []).map(({ name }) => name),
      ),
      results: contents.slice(prompt + 1).filter(isResult).length,
      prompt: textOf(contents[prompt]?.parts),
      fresh: contents
        .slice(answer + 1)
        .map(({ parts }) => textOf(parts))
        .join("\n"),
      wantsJson: body.generationConfig?.responseMimeType === "application/json",
    };
  },

  say(next, { model, isStream, tools }, used, id) {
    const promptTokenCount = used.input + used.cacheRead;
    const usageMetadata = {
      promptTokenCount,
      cachedContentTokenCount: used.cacheRead,
      candidatesTokenCount: used.output,
      thoughtsTokenCount: used.thought,
      totalTokenCount: promptTokenCount + used.output + used.thought,
    };
    const answer = (parts, more = {}) => ({
      candidates: [{ index: 0, content: { role: "model", parts }, ...more.end }],
      usageMetadata: more.usage ?? { promptTokenCount, totalTokenCount: promptTokenCount },
      modelVersion: model,
      responseId: id,
    });
    const last = { end: { finishReason: "STOP" }, usage: usageMetadata };
    const parts =
      next.text === undefined
        ? [{ functionCall: { id: `call_${id}`, ...call(next, tools) } }]
        : (isStream ? inPieces(next.text) : [next.text]).map((text) => ({ text }));
    if (!isStream) return json(answer(parts, last));
    const thought = answer([{ thought: true, text: "**A test**\n\nOne thought." }]);
    const said = parts.map((part, at) => answer([part], at === parts.length - 1 ? last : {}));
    return frames([thought, ...said].map(plain));
  },

  refuse(status, mode) {
    const seconds = Number(mode.retry ?? 3600);
    const [code, name, message, details] = refusal(status, seconds);
    return { status: code, headers: {}, body: { error: { code, message, status: name, details } } };
  },
};

function refusal(status, seconds) {
  const detail = (type, more) => [{ "@type": `type.googleapis.com/google.rpc.${type}`, ...more }];
  switch (status) {
    case 401: // Google answers a wrong key with 400
      return [
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        detail("ErrorInfo", { reason: "API_KEY_INVALID", domain: "googleapis.com" }),
      ];
    case 403:
      return [403, "PERMISSION_DENIED", "The caller does not have permission", []];
    case 404:
      return [
        404,
        "NOT_FOUND",
        "models/no-such-model is not found for API version v1beta, or is not supported for generateContent.",
        [],
      ];
    case 429:
      return [
        429,
        "RESOURCE_EXHAUSTED",
        `You exceeded your current quota, please check your plan and billing details. Please retry in ${seconds}s.`,
        detail("RetryInfo", { retryDelay: `${seconds}s` }),
      ];
    case 503:
      return [503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []];
    default:
      return [status, "INTERNAL", "An internal error has occurred.", []];
  }
}

function call({ shell, file, content }, tools) {
  if (file !== undefined && tools.includes("write_file"))
    return { name: "write_file", args: { file_path: file, content } };
  const command = shell ?? `printf %s '${content}' > ${file}`;
  return { name: "run_shell_command", args: { command, description: "a test's command" } };
}
