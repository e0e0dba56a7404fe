// Output of the vendors' programs while they try again by themselves, recorded from claude 2.1.325,
// codex 0.166.0, gemini 0.61.0 and opencode 1.18.33 in front of a server that always fails. Ids and
// addresses are shortened.

const claude = (attempt, status, error, retry_delay_ms) => [
  "out",
  JSON.stringify({
    type: "system",
    subtype: "api_retry",
    attempt,
    max_retries: 10,
    retry_delay_ms,
    error_status: status,
    error,
    session_id: "0f901d0e-41ae-47b7-99d1-1c34ebd2042e",
    uuid: "aa57d0bd-0837-467b-9f08-580b021df325",
  }),
];
const codex = (message) => ["out", JSON.stringify({ type: "error", message })];
const opencode = (error, small = false) => [
  "err",
  `timestamp=2026-11-16T01:27:37.442Z level=ERROR run=27b68697 message="stream error" providerID=mock modelID=mock-model session.id=ses_1 small=${small} agent=${small ? "title" : "build"} mode=primary error.error="${error}"`,
];

/** By vendor and failure: [stream, line], in the order they came. */
export const WAITS = {
  claude: {
    401: [
      claude(1, 401, "authentication_failed", 515),
      claude(2, 401, "authentication_failed", 1143),
    ],
    503: [claude(1, 503, "server_error", 588), claude(2, 503, "server_error", 1145)],
    529: [claude(1, 529, "overloaded", 609), claude(2, 529, "overloaded", 1041)],
    refused: [claude(1, null, "unknown", 568), claude(2, null, "unknown", 1116)],
  },
  codex: {
    429: [
      [
        "err",
        "2026-11-16T01:28:11.674606Z  WARN codex_core::responses_retry: stream disconnected - retrying sampling request (1/5 in 3599.998570102s)... turn_id=01a1 retries=1 max_retries=5 sampling_error=exceeded retry limit, last status: 429 Too Many Requests",
      ],
      codex("Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"),
    ],
    401: [
      codex(
        "Reconnecting... 1/5 (unexpected status 401 Unauthorized: Incorrect API key provided: test., url: http://x/v1/responses)",
      ),
    ],
    402: [
      codex(
        "Reconnecting... 1/5 (unexpected status 402 Payment Required: You exceeded your current quota, please check your plan and billing details., url: http://x/v1/responses)",
      ),
    ],
    403: [
      codex(
        "Reconnecting... 1/5 (unexpected status 403 Forbidden: mock error, url: http://x/v1/responses)",
      ),
    ],
    500: [
      codex(
        "Reconnecting... 1/5 (We\u2019re currently experiencing high demand, which may cause temporary errors.)",
      ),
    ],
    529: [
      codex(
        "Reconnecting... 1/5 (unexpected status 529 <unknown status code>: mock error, url: http://x/v1/responses)",
      ),
    ],
    refused: [
      codex("Reconnecting... waiting for network (Connection failed: error sending request)"),
    ],
  },
  gemini: {
    429: [
      [
        "err",
        "Attempt 1 failed: You exceeded your current quota, please check your plan and billing details. Please retry in 120s.",
      ],
      ["err", "Suggested retry after 120s.. Retrying after 131075ms..."],
    ],
    503: [
      [
        "err",
        'Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE","details":[]}}',
      ],
      ["err", "    at throwErrorIfNotOK (file:///x/chunk-JDPZ4CE3.js:265221:24)"],
    ],
    529: [
      [
        "err",
        'Attempt 1 failed with status 529. Retrying with backoff... _ApiError: {"error":{"code":529,"message":"mock error","status":"INTERNAL","details":[]}}',
      ],
    ],
    refused: [
      [
        "err",
        "Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request",
      ],
    ],
  },
  opencode: {
    429: [opencode("AI_APICallError: Rate limit reached for requests. Please try again in 3600s.")],
    unified: [opencode("AI_APICallError: The usage limit has been reached")],
    401: [opencode("AI_APICallError: Incorrect API key provided: test.")],
    500: [opencode("AI_APICallError: mock error")],
    503: [opencode("AI_APICallError: The server is currently overloaded. Please try again later.")],
    refused: [
      opencode(
        "AI_APICallError: Cannot connect to API: Unable to connect. Is the computer able to access the url? (cause: Error: Unable to connect. Is the computer able to access the url?)",
      ),
    ],
    title: [
      opencode(
        "AI_RetryError: Failed after 3 attempts. Last error: Rate limit reached for requests. Please try again in 3600s.",
        true,
      ),
    ],
  },
};
