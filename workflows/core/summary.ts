/** A summary for the Web UI, cut to 100 characters: the server refuses more than 400 bytes. */
export const cutSummary = (text: string): string => (text.length <= 100 ? text : `${text.slice(0, 99)}…`);
