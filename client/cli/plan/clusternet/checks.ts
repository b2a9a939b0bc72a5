/** What Drover takes for granted about Clusternet, tried one by one on an installation. */
import { KubeError } from '../../../../kube/error.js';
import type { Member, Scratch, Sight } from './installation.js';

/** How one check went. */
export interface CheckResult {
  /** What should hold. */
  check: string;
  result: 'held' | 'failed' | 'skipped';
  detail: string;
  /** How long it took, in milliseconds. */
  ms: number;
}

/** Times of the checks, in milliseconds. */
export interface CheckTimes {
  /** Longest wait for something that should happen. */
  timeoutMs: number;
  /** How long nothing must happen where nothing should. */
  quietMs: number;
}

interface Work {
  scratch: Scratch;
  first: Member;
  second: Member | undefined;
  times: CheckTimes;
  signal: AbortSignal;
}

/** Ends a check that does not hold. */
class NotHeld extends Error {}

interface Check {
  check: string;
  /** Nothing after it makes sense when it does not hold. */
  essential?: boolean;
  /** Why it cannot be tried here. */
  skip?: (work: Work) => string | undefined;
  /** Returns what is worth showing. */
  run: (work: Work) => Promise<string>;
}

const needsChild =
  (of: (work: Work) => Member | undefined) =>
  (work: Work): string | undefined => {
    const member = of(work);
    return member === undefined || member.child.ok ? undefined : `${member.binding}: ${member.child.why}`;
  };
const needsSecond = ({ second }: Work): string | undefined =>
  second === undefined ? 'needs a second cluster that is Ready' : undefined;

const merge = (mode: string): { type: string; value: string } => ({
  type: 'MergePatch',
  value: JSON.stringify({ data: { mode } }),
});

/** In order: each goes on from what the one before has left. */
const CHECKS: readonly Check[] = [
  {
    check: 'a Subscription brings its feed to the cluster it selects',
    essential: true,
    async run(work) {
      const { scratch, first } = work;
      await scratch.makeFeed();
      await scratch.subscribe([first]);
      await until(work, first, (sight) => sight.phase === 'Success' && sight.wanted === 'plain');
      return `Description in ${first.namespace} says Success`;
    },
  },
  {
    check: 'the cluster itself can be looked into, and has it',
    skip: needsChild(({ first }) => first),
    async run(work) {
      await until(work, work.first, (sight) => sight.value === 'plain');
      return `${work.first.binding} has the ConfigMap`;
    },
  },
  {
    check: 'a Localization with ApplyNow takes effect at once',
    async run(work) {
      const { scratch, first } = work;
      await scratch.localize(first, 'high', { priority: 600, overridePolicy: 'ApplyNow', ...merge('high') });
      await until(work, first, (sight) => sight.value === 'high');
      return 'the value changed';
    },
  },
  {
    check: 'one of lower priority does not win over it',
    async run(work) {
      const { scratch, first } = work;
      await scratch.localize(first, 'low', { priority: 400, overridePolicy: 'ApplyNow', ...merge('low') });
      await staysSo(work, first, 'high');
      return 'the value stayed';
    },
  },
  {
    check: 'a JSONPatch whose path does not exist is passed over without a word',
    async run(work) {
      const { scratch, first } = work;
      const value = JSON.stringify([
        { op: 'replace', path: '/data/mode', value: 'half' },
        { op: 'remove', path: '/data/no-such-key' },
      ]);
      await scratch.localize(first, 'missing', {
        priority: 700,
        overridePolicy: 'ApplyNow',
        type: 'JSONPatch',
        value,
      });
      const { phase } = await staysSo(work, first, 'high');
      return `the value stayed, and the Description says ${phase ?? 'nothing'}`;
    },
  },
  {
    check: 'a Localization with ApplyLater changes nothing by itself',
    async run(work) {
      const { scratch, first } = work;
      await scratch.localize(first, 'later', {
        priority: 800,
        overridePolicy: 'ApplyLater',
        ...merge('later'),
      });
      await staysSo(work, first, 'high');
      return 'the value stayed';
    },
  },
  {
    check: 'deleting Localizations takes their effect back',
    async run(work) {
      await work.scratch.unlocalize();
      await until(work, work.first, (sight) => sight.value === 'plain');
      return 'the value is that of the feed again';
    },
  },
  {
    check: 'a change of the clusterAffinity moves the feed to the other cluster',
    skip: needsSecond,
    async run(work) {
      const { scratch, first, second = first } = work;
      await scratch.bind([second.id]);
      await until(work, second, (sight) => sight.phase === 'Success' && sight.value === 'plain');
      await until(work, first, isGone);
      return `${second.binding} has it, ${first.binding} has not`;
    },
  },
  {
    check: 'a clusterAffinity that matches nothing removes the feed everywhere',
    async run(work) {
      const { scratch, first, second = first } = work;
      await scratch.bind(['00000000-0000-0000-0000-000000000000']);
      await until(work, second, isGone);
      return 'it was removed: Drover refuses to send such a Subscription';
    },
  },
  {
    check: 'deleting the Subscription removes the feed',
    async run(work) {
      const { scratch, first } = work;
      await scratch.bind([first.id]);
      await until(work, first, (sight) => sight.phase === 'Success' && sight.value === 'plain');
      await scratch.unsubscribe();
      await poll(
        work,
        async () => (await scratch.bindings()) === undefined || 'the Subscription is still there',
      );
      // Clusternet lets the Subscription go before it has removed anything.
      const isEarly = !isGone(await scratch.look(first));
      await until(work, first, isGone);
      if (isEarly) return 'nothing is left; the Subscription itself was gone before that';
      return 'nothing is left';
    },
  },
];

/** Tries everything in order and reports each result as it comes. */
export async function runChecks(work: Work, onResult: (result: CheckResult) => void): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  let stopped: string | undefined;
  for (const { check, essential, skip, run } of CHECKS) {
    if (work.signal.aborted) break;
    const started = Date.now();
    const end = (result: CheckResult['result'], detail: string): void => {
      const one = { check, result, detail, ms: Date.now() - started };
      results.push(one);
      onResult(one);
    };
    const why = stopped ?? skip?.(work);
    if (why !== undefined) {
      end('skipped', why);
      continue;
    }
    try {
      end('held', await run(work));
    } catch (error) {
      if (work.signal.aborted) break;
      if (!(error instanceof NotHeld) && !(error instanceof KubeError)) throw error;
      end('failed', error.message);
      if (essential === true) stopped = 'needs what has just failed';
    }
  }
  return results;
}

const isGone = ({ phase, wanted, value }: Sight): boolean =>
  phase === undefined && wanted === undefined && value === undefined;

function tell({ phase, wanted, value }: Sight): string {
  const shown = (text: string | undefined): string => (text === undefined ? 'nothing' : `"${text}"`);
  return `the Description says ${shown(phase)}, it holds ${shown(wanted)}, and the cluster has ${shown(value)}`;
}

async function until(work: Work, member: Member, reached: (sight: Sight) => boolean): Promise<void> {
  await poll(work, async () => {
    const sight = await work.scratch.look(member);
    return reached(sight) || `in ${member.binding}, ${tell(sight)}`;
  });
}

/** Waits for as long as nothing should happen; returns what was seen last. */
async function staysSo(work: Work, member: Member, value: string): Promise<Sight> {
  const end = Date.now() + work.times.quietMs;
  for (;;) {
    const sight = await work.scratch.look(member);
    if (sight.value !== value) throw new NotHeld(`in ${member.binding}, ${tell(sight)}`);
    if (Date.now() >= end) return sight;
    await pause(work.signal);
  }
}

/** Asks until the answer is true; the last answer says what was there instead. */
async function poll(work: Work, look: () => Promise<true | string>): Promise<void> {
  const end = Date.now() + work.times.timeoutMs;
  for (;;) {
    const found = await look();
    if (found === true) return;
    if (Date.now() >= end) throw new NotHeld(`not within ${work.times.timeoutMs / 1000} s: ${found}`);
    await pause(work.signal);
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 250));
  if (signal.aborted) throw new NotHeld('interrupted');
}
