import { formatDuration } from '../api/duration.js';
import { findByPath, readJsonPath, textOf } from '../api/json-path.js';
import { judgeObject } from '../api/object-condition.js';
import type { ObjectVerdict } from '../api/object-condition.js';
import { renderString } from '../api/render.js';
import type { RenderScope } from '../api/render.js';
import type { WaitAction } from '../api/types.js';
import { describeKey } from '../kube/object.js';
import type { KubeObject, ObjectKey } from '../kube/object.js';
import { observe } from '../kube/observe.js';
import type { Attempt, AttemptResult, Handler } from './handler.js';
import { cutText, printable } from './text.js';

/** Characters of a value that stand in a message. */
const QUOTED_CHARACTERS = 120;
const LAST_WORDS_MS = 200;

/** Waits for objects. A wait for a time is a timer of the workflow and never comes here. */
export const waitHandler: Handler = {
  run,
  undo: () =>
    Promise.resolve({ kind: 'skipped', reason: 'NothingToUndo', message: 'a wait changes nothing' }),
  settle: () =>
    Promise.resolve({
      kind: 'failed',
      reason: 'Interrupted',
      message: 'the wait was cut short; it changes nothing',
      effect: 'None',
    }),
};

/** Judges an object, null while there is none. */
type Judge = (object: KubeObject | null) => ObjectVerdict;

async function run(attempt: Attempt): Promise<AttemptResult> {
  const { action, kube, signal, task } = attempt;
  const { wait } = action;
  const wanted = wait === undefined ? undefined : readWanted(wait, attempt);
  if (wanted === undefined) {
    return {
      kind: 'failed',
      reason: 'InvalidAction',
      message: 'the action has no "wait.for" with a condition or a jsonPath; write what it shall wait for',
      effect: 'None',
    };
  }
  const { key, judge, shown } = wanted;
  // A cluster that does not answer at all is told, and tried again; once it has answered, a break is only waited out.
  let last = judge((await kube.get(key, { signal })) ?? null);
  let present = false;
  // Ends by itself, so that it can say what it saw last.
  const timeoutMs = attempt.deadline - Date.now() - LAST_WORDS_MS;
  try {
    const met = await observe(
      kube,
      { object: key },
      ({ object: [found] }) => {
        present = found !== undefined;
        last = judge(found ?? null);
        return last.holds ? true : undefined;
      },
      { signal, timeoutMs },
    );
    if (met === true) return { kind: 'succeeded', message: `${describeKey(key)}: ${shown}` };
  } catch (error) {
    if (!signal.aborted) throw error;
    if (signal.reason !== 'timeout') return { kind: 'interrupted', effect: 'None' };
  }
  const seen = [present ? undefined : 'it is not there', last.why].filter((part) => part !== undefined);
  return {
    kind: 'failed',
    reason: 'Timeout',
    message: `${describeKey(key)} was not as it should be within ${formatDuration(task.timeoutMs)}: ${shown}${seen.length === 0 ? '' : ` (${seen.join('; ')})`}`,
    effect: 'None',
  };
}

function readWanted(
  wait: WaitAction,
  { scope, task }: Attempt,
): { key: ObjectKey; judge: Judge; shown: string } | undefined {
  const judge = readJudge(wait, scope);
  if (wait.for === undefined || judge === undefined) return undefined;
  const namespace = renderString(wait.for.namespace ?? '', scope) || task.run.namespace;
  const key = {
    apiVersion: renderString(wait.for.apiVersion, scope),
    kind: renderString(wait.for.kind, scope),
    namespace,
    name: renderString(wait.for.name, scope),
  };
  return { key, ...judge };
}

function readJudge(wait: WaitAction, scope: RenderScope): { judge: Judge; shown: string } | undefined {
  const { condition, jsonPath } = wait;
  if (condition !== undefined) {
    return {
      judge: (object) => judgeObject(condition, object),
      shown: cutText(printable(condition), QUOTED_CHARACTERS, '…'),
    };
  }
  if (jsonPath === undefined) return undefined;
  const path = readJsonPath(jsonPath);
  if (!path.ok) return undefined;
  const value = wait.value === undefined ? undefined : renderString(wait.value, scope);
  return {
    judge(object) {
      const found = findByPath(path.steps, object).map(textOf);
      if (value === undefined ? found.length > 0 : found.includes(value)) return { holds: true };
      const [first] = found;
      if (first === undefined) return { holds: false, why: 'there is no such field' };
      return {
        holds: false,
        why: `it is ${JSON.stringify(cutText(printable(first), QUOTED_CHARACTERS, '…'))}`,
      };
    },
    shown: value === undefined ? `has ${jsonPath}` : `${jsonPath} is ${JSON.stringify(value)}`,
  };
}
