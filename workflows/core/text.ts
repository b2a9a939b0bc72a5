/** A text of at most `limit` characters, with an ellipsis where it was cut. */
export const cutText = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;

/** A summary for the Web UI: the server refuses more than 400 bytes. */
export const cutSummary = (text: string): string => cutText(text, 100);
