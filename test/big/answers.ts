/** How the API server has answered, from its own counters. */
import type { KubeClient } from '../../kube/client.js';

/** Requests since it began. */
export interface Answers {
  all: number;
  /** Answered 429: too many requests. */
  refused: number;
  /** Of those, refused by priority and fairness. */
  rejected: number;
  /** Writes that found another version than they came from. */
  conflicts: number;
}

const MAX_BYTES = 64 << 20;

/** Reads the counters. @throws KubeError when this account may not */
export async function answers(kube: KubeClient): Promise<Answers> {
  const text = await kube.text(
    { method: 'GET', path: '/metrics', headers: { accept: 'text/plain' }, timeoutMs: 60_000 },
    MAX_BYTES,
  );
  const sum = (metric: string, label = ''): number =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf('}') + 1)), 0);
  return {
    all: sum('apiserver_request_total'),
    refused: sum('apiserver_request_total', 'code="429"'),
    rejected: sum('apiserver_flowcontrol_rejected_requests_total'),
    conflicts: sum('apiserver_request_total', 'code="409"'),
  };
}

/** What came between two looks. */
export const difference = (after: Answers, before: Answers): Answers => ({
  all: after.all - before.all,
  refused: after.refused - before.refused,
  rejected: after.rejected - before.rejected,
  conflicts: after.conflicts - before.conflicts,
});
