/** The traffic itself: the weights of the sites, how their sessions drain, and the maintenance switch. */
import { badRequest, notFound, ok } from './answer.js';
import type { Answer } from './answer.js';

/** What requests have made of it. */
export interface TrafficState {
  sites: Record<string, { weight: number; sessions: number }>;
  maintenance: boolean;
}

/** Traffic that can be looked at and steered. */
export interface Traffic {
  state(): TrafficState;
  /** Answers a GET of a site, or of whether it is drained. */
  read(path: string): Answer;
  /** Changes a weight or the maintenance switch. An answer of 300 or above has changed nothing. */
  write(path: string, body: unknown): Answer;
}

interface Site {
  weight: number;
  drainedAt: number;
}

const SESSIONS_PER_WEIGHT = 12;
/** Sessions that a site has at the moment when its weight goes to 0. */
const DRAINING_SESSIONS = 100;

/**
 * Traffic of sites.
 *
 * @param weights of the sites, 0 to 100
 * @param drainMs how long the sessions of a site stay open after its weight went to 0
 */
export function createTraffic(weights: Record<string, number>, drainMs: number): Traffic {
  const sites = new Map<string, Site>(
    Object.entries(weights).map(([name, weight]) => [name, { weight, drainedAt: 0 }]),
  );
  let maintenance = false;

  const sessionsOf = (site: Site): number => {
    if (site.weight > 0) return site.weight * SESSIONS_PER_WEIGHT;
    const left = Math.max(0, site.drainedAt - Date.now());
    return drainMs === 0 ? 0 : Math.ceil((left / drainMs) * DRAINING_SESSIONS);
  };

  function setMaintenance(enabled: unknown): Answer {
    if (typeof enabled !== 'boolean') return badRequest('"enabled" must be true or false');
    maintenance = enabled;
    return ok({ maintenance });
  }

  function setWeight(name: string, site: Site, weight: unknown): Answer {
    if (typeof weight !== 'number' || !Number.isInteger(weight) || weight < 0 || weight > 100) {
      return badRequest('"weight" must be a whole number from 0 to 100');
    }
    if (weight === 0 && site.weight > 0) site.drainedAt = Date.now() + drainMs;
    site.weight = weight;
    return ok({ name, weight });
  }

  return {
    state: () => ({
      sites: Object.fromEntries(
        [...sites].map(([name, site]) => [name, { weight: site.weight, sessions: sessionsOf(site) }]),
      ),
      maintenance,
    }),
    read(path) {
      const [, name = '', drained] = /^\/sites\/([^/]+)(\/drained)?$/.exec(path) ?? [];
      const site = sites.get(name);
      if (site === undefined) return notFound(path);
      const sessions = sessionsOf(site);
      if (drained === undefined) return ok({ name, weight: site.weight, sessions });
      return sessions === 0
        ? ok({ name, drained: true })
        : { status: 503, body: { name, drained: false, error: `${sessions} sessions are still open` } };
    },
    write(path, body) {
      if (path === '/maintenance') return setMaintenance(field(body, 'enabled'));
      const name = /^\/sites\/([^/]+)\/weight$/.exec(path)?.[1] ?? '';
      const site = sites.get(name);
      return site === undefined ? notFound(path) : setWeight(name, site, field(body, 'weight'));
    },
  };
}

function field(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}
