import { formatDuration } from '../../../api/core/duration.js';
import { findByPath, readJsonPath, textOf } from '../../../api/core/json-path.js';
import { judgeObject } from '../../../api/core/object-condition.js';
import type { ConditionResult } from '../../../api/core/object-condition.js';
import { renderString } from '../../../api/plan/template/render.js';
import type { RenderScope } from '../../../api/plan/template/render.js';
import type { WaitAction } from '../../../api/plan/types.js';
import { describeKey } from '../../../kube/object.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import type { WatchPool } from '../../../kube/watch-pool.js';
import type { Attempt, AttemptResult, Handler } from '../../core/handler.js';
import { cutText, printable } from '../../core/text.js';

/** Characters of a value that stand in a message. */
const QUOTED_CHARACTERS = 120;
const LAST_WORDS_MS = 200;

/** Waits for objects. A wait for a time is a timer of the workflow and never comes here. */
export function createWaitHandler(watches: WatchPool): Handler {
  return {
    run: (attempt) => run(attempt, watches),
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
}

/** Judges an object, null while there is none. */
type Judge = (object: KubeObject | null) => ConditionResult;

async function run(attempt: Attempt, watches: WatchPool): Promise<AttemptResult> {
  const { action, kube, signal, task } = attempt;
  const { wait } = action;
  const wanted = wait === undefined ? undefined : readWanted(wait, attempt);
  if (wait === undefined || wanted === undefined) {
    return {
      kind: 'failed',
      reason: 'InvalidAction',
      message: 'the action has no "wait.for" with a condition or a jsonPath; write what it shall wait for',
      effect: 'None',
    };
  }
  const { key, judge, shown } = wanted;
  const { failWhen } = wait;
  // A cluster that does not answer at all is reported and tried again; once it has answered, an outage is only waited
  // out.
  let last = judge((await kube.get(key, { signal })) ?? null);
  let present = false;
  const look = (found: KubeObject | undefined): 'met' | 'failed' | undefined => {
    present = found !== undefined;
    last = judge(found ?? null);
    if (last.holds) return 'met';
    if (failWhen !== undefined && judgeObject(failWhen, found ?? null).holds) return 'failed';
    return undefined;
  };
  // Ends by itself, so that it can say what it saw last.
  const timeoutMs = attempt.deadline - Date.now() - LAST_WORDS_MS;
  const owner = { kube, id: `${attempt.identity} ${kube.server}` };
  try {
    switch (await watches.until(owner, key, look, { signal, timeoutMs })) {
      case 'met':
        return { kind: 'succeeded', message: `${describeKey(key)}: ${shown}` };
      case 'failed':
        return {
          kind: 'failed',
          reason: 'FailWhen',
          message: `${describeKey(key)} is as it must not be: ${shorten(failWhen ?? '')} (while waiting for: ${shown})`,
          effect: 'None',
        };
      case undefined:
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (signal.reason !== 'timeout') return { kind: 'interrupted', effect: 'None' };
  }
  return {
    kind: 'failed',
    reason: 'Timeout',
    message: `${describeKey(key)} was not as it should be within ${formatDuration(task.timeoutMs)}: ${shown}${seen(present, last)}`,
    effect: 'None',
  };
}

/** ` (it is not there; …)`, or nothing. */
function seen(present: boolean, { why }: ConditionResult): string {
  const parts = [present ? undefined : 'it is not there', why].filter((part) => part !== undefined);
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
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

const shorten = (text: string): string => cutText(printable(text), QUOTED_CHARACTERS, '…');

function readJudge(wait: WaitAction, scope: RenderScope): { judge: Judge; shown: string } | undefined {
  const { condition, jsonPath } = wait;
  if (condition !== undefined) {
    return {
      judge: (object) => judgeObject(condition, object),
      shown: shorten(condition),
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
