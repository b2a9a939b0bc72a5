import type { Logger } from 'pino';
import type { AuthorizeProfile, ProfileServer } from './profile-server.js';

/** Serves profiles where a port is configured; the code for it is loaded only there. */
export async function openProfiles(options: {
  port: number | undefined;
  name: string;
  authorize: AuthorizeProfile;
  log: Pick<Logger, 'info' | 'warn'>;
}): Promise<{ ports: number[]; close: ProfileServer['close'] }> {
  const { port } = options;
  if (port === undefined) return { ports: [], close: () => Promise.resolve() };
  const { serveProfiles } = await import('./profile-server.js');
  const server = await serveProfiles({ ...options, port });
  return { ports: [server.port], close: () => server.close() };
}
