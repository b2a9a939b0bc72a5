import type { ActionOutputs, ObjectReference } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import { describeKey } from '../../../kube/object.js';
import type { CaptureOutcome } from '../../../workflows/plan/contract-tasks.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import type { ObjectTask } from '../../core/object-task.js';
import { isSameKey, keyIn, withoutServerFields } from '../../core/objects.js';
import type { AfterDocument, PriorState } from '../../core/prior.js';
import { forwardOwner, isUnsealed, refused } from './object-action.js';
import type { OutputsOf } from './object-action.js';
import { readPrior } from './object-capture.js';
import type { ObjectEffect } from './object-effect.js';
import { afterError } from './object-errors.js';

/** What was carried out so far, and how it ended. */
export interface Performed {
  effects: Extract<ObjectEffect, { kind: 'done' }>[];
  outputs: ActionOutputs;
  /** Notes for a person, joined; undefined when there are none. */
  notes: string | undefined;
  /** Set when not everything could be carried out. */
  stopped?: AttemptResult;
  /** Prior state, where it was captured. */
  state: PriorState | undefined;
}

type Done = Extract<ObjectEffect, { kind: 'done' }>;

/** Carries tasks out in order, up to the first that fails. */
export async function performAll(
  tasks: ObjectTask[],
  attempt: Attempt,
  options: {
    outputsOf: OutputsOf;
    /** Carries out one task. */
    perform: (task: ObjectTask, attempt: Attempt) => Promise<ObjectEffect>;
  },
): Promise<Performed> {
  const ref = attempt.task.direction === 'forward' ? attempt.task.prior : undefined;
  const effects: Done[] = [];
  let state: PriorState | undefined;
  const performed = (stopped?: AttemptResult): Performed => {
    const created = effects.filter((effect) => effect.created).map((effect) => effect.reference);
    const notes = effects.flatMap((effect) => effect.note ?? []);
    const references = effects.map((effect) => effect.reference);
    return {
      effects,
      outputs: {
        ...options.outputsOf(references, created),
        ...(ref !== undefined && { priorRef: ref }),
      },
      notes: notes.length === 0 ? undefined : notes.join('; '),
      state,
      ...(stopped !== undefined && { stopped }),
    };
  };

  if (ref !== undefined) {
    const found = await attempt.priors.find(forwardOwner(attempt), ref, { byDigest: isUnsealed(attempt) });
    if (!found.ok) return performed(refused(found));
    state = found.state;
  }
  const perform = performOne(attempt, options.perform);
  for (const task of tasks) {
    const key = keyOf(task.object);
    const prior = state?.documents.find((document) => isSameKey(document.key, key));
    const effect = await perform({ ...task, prior }, effects.length > 0);
    if (effect.kind === 'done') {
      effects.push(effect);
      continue;
    }
    await keepAfter(attempt, state, effects);
    return performed(complete(effect.stopped, effects, performed().outputs, tasks.length));
  }
  await keepAfter(attempt, state, effects);
  return performed();
}

/**
 * Carries out single tasks. What it returns for one that was not done says what may have happened in the whole action:
 * `isAfterOthers` is whether tasks before it were done.
 */
function performOne(
  attempt: Attempt,
  perform: (task: ObjectTask, attempt: Attempt) => Promise<ObjectEffect>,
): (task: ObjectTask, isAfterOthers: boolean) => Promise<Done | { kind: 'stopped'; stopped: AttemptResult }> {
  let began = false;
  const tracked: Attempt = {
    ...attempt,
    beforeEffect() {
      attempt.beforeEffect();
      began = true;
    },
  };
  return async (task, isAfterOthers) => {
    let effect: ObjectEffect;
    try {
      attempt.signal.throwIfAborted();
      effect = await perform(task, tracked);
    } catch (error) {
      const happened = isAfterOthers ? 'Done' : began ? 'Unknown' : 'None';
      return { kind: 'stopped', stopped: afterError(error, task, attempt, happened) };
    }
    if (effect.kind === 'done') return effect;
    const happened = isAfterOthers ? 'Done' : effect.effect;
    const stopped: AttemptResult =
      effect.kind === 'failed'
        ? { ...effect, effect: happened }
        : { ...effect, effect: happened, round: 'Unclear' };
    return { kind: 'stopped', stopped };
  };
}

/** Adds to the recorded state how objects are after the effects: what an undo compares with. */
async function keepAfter(
  attempt: Attempt,
  state: PriorState | undefined,
  effects: readonly Done[],
): Promise<void> {
  const { prior } = attempt.task;
  if (state === undefined || prior === undefined) return;
  const after = effects.map(({ reference, stored, exact }): AfterDocument => ({
    key: keyIn(reference) ?? unreachable(reference),
    object: stored === null ? null : withoutServerFields(stored),
    ...(exact === true && { exact }),
  }));
  if (after.length > 0) await attempt.priors.addAfter(forwardOwner(attempt), prior, after);
}

/** Records objects, or their absence, before tasks are carried out. */
export async function captureAll(tasks: ObjectTask[], attempt: Attempt): Promise<CaptureOutcome> {
  if (tasks.every((task) => task.operation === 'Create')) return { kind: 'none' };
  const documents = await readPrior(tasks, attempt);
  attempt.signal.throwIfAborted();
  const recorded = await attempt.priors.record(forwardOwner(attempt), documents, {
    isRepeated: attempt.isRepeated,
  });
  return recorded.ok
    ? { kind: 'captured', prior: recorded.prior }
    : { kind: 'failed', reason: recorded.reason, message: recorded.message };
}

/** Adds to a result what was done before it. */
function complete(
  stopped: AttemptResult,
  effects: Performed['effects'],
  outputs: ActionOutputs,
  total: number,
): AttemptResult {
  if (stopped.kind === 'succeeded' || stopped.kind === 'skipped') return stopped;
  if (effects.length === 0) return { ...stopped, outputs };
  const names = effects.map(({ reference }) => describeKey({ kind: '', ...reference }));
  const message = [
    stopped.message,
    `done before it: ${effects.length} of ${total} (${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''})`,
  ];
  return {
    ...stopped,
    outputs,
    message: message.filter((part) => part !== undefined).join('; '),
  };
}

function unreachable(reference: ObjectReference): never {
  throw new Error(`reference to ${reference.name} has no kind`);
}
