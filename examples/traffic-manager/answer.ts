/** What a request is answered with; the body is sent as JSON. */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const badRequest = (error: string): Answer => ({ status: 400, body: { error } });
export const notFound = (path: string): Answer => ({ status: 404, body: { error: `there is no ${path}` } });
