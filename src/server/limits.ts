/** What one client, or many, may take of the server. Documented in docs/spec/server.md. */
export type Limits = { readonly [key in keyof typeof LIMITS]: number };

export const LIMITS = {
  connections: 512,
  eventStreams: 256,
  /** Request line and headers. */
  headerBytes: 16 * 1024,
  queryBytes: 8 * 1024,
  /** Until the headers, and until the whole request must be there. */
  headersMs: 10_000,
  requestMs: 300_000,
  /** A connection on which nothing moves. */
  idleMs: 120_000,
  keepAliveMs: 65_000,
  /** How often the times above are looked after. */
  checkMs: 2_000,
  /** How often it is asked whether the client of a stream may still read. */
  admitAgainMs: 15_000,
  /** An event stream may be so far behind before it is closed. */
  unreadBytes: 1024 * 1024,
} as const;
