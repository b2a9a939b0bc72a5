/** What the end of an operation means for its run: a pure function of what was found (T6.1, T8.7). */
import type { Diagnostic, OperationResult } from './operation-result.js';

/** How a plan ended. */
export type PlanVerdict =
  | { phase: 'planned'; hasChanges: boolean }
  | { phase: 'failed' | 'cancelled'; reason: string; message: string }
  /** Its runner is dead: it may be made once more. */
  | { phase: 'lost'; message: string };

/** How an apply ended. */
export type ApplyVerdict =
  | { phase: 'applied' }
  /** `hasNoEffect`: nothing was begun. `isPartial`: the state has changed. */
  | {
      phase: 'failed' | 'cancelled';
      reason: string;
      message: string;
      hasNoEffect?: true;
      isPartial?: true;
    }
  /** What was done is not known: never resumed (T8.8). */
  | { phase: 'apply_unknown'; reason: 'StateIncomplete' | 'EngineKilled' | 'RunnerLost'; message: string };

/** What an engine says when a plan was made from another state than there is: it has begun nothing then. */
const STALE = ['Saved plan is stale', 'Saved plan does not match the given state'];

/** Judges a plan. The engine's exit code alone says whether anything changes. */
export function judgePlan(result: OperationResult): PlanVerdict {
  const { end, interrupted, step } = result;
  if (result.plan !== undefined) return { phase: 'planned', hasChanges: result.plan.hasChanges };
  if (end.kind === 'runnerLost') {
    return { phase: 'lost', message: 'the runner of the plan died before it had a result' };
  }
  switch (interrupted?.by) {
    case 'timeout':
      return { phase: 'failed', reason: 'PlanTimeout', message: 'the plan took longer than planTimeout' };
    case 'request':
    case 'revoked':
    case 'released':
      return { phase: 'cancelled', reason: 'Cancelled', message: interrupted?.reason ?? 'it was cancelled' };
    case 'outside':
      return { phase: 'failed', reason: 'Interrupted', message: 'a signal from outside ended the plan' };
    case undefined:
      break;
  }
  if (end.kind === 'refused') return { phase: 'failed', reason: end.reason, message: end.message };
  const how = end.end.kind === 'exited' ? `exit code ${end.end.code}` : `it was ended by ${end.end.signal}`;
  const what = step === 'init' ? 'init' : 'plan';
  return {
    phase: 'failed',
    reason: step === 'init' ? 'InitFailed' : 'PlanFailed',
    message: `${what}: ${firstError(result.diagnostics) ?? how}`,
  };
}

/**
 * Judges an apply, once its last whole state is final. What is worse counts: a state that lacks what was created is
 * unknown, whatever the exit code.
 */
export function judgeApply(result: OperationResult): ApplyVerdict {
  const { end, state } = result;
  switch (end.kind) {
    case 'refused': {
      const isCancelled = result.interrupted?.by === 'request' || result.interrupted?.by === 'revoked';
      const phase = isCancelled ? 'cancelled' : 'failed';
      return { phase, reason: end.reason, message: end.message, hasNoEffect: true };
    }
    case 'runnerLost':
      return end.spawning === false
        ? {
            phase: 'failed',
            reason: 'NotStarted',
            message: 'the runner died before it started the engine',
            hasNoEffect: true,
          }
        : {
            phase: 'apply_unknown',
            reason: 'RunnerLost',
            message: 'the runner died while the engine may have been at work',
          };
    case 'engine':
      break;
  }
  if (end.end.kind === 'signalled') {
    return {
      phase: 'apply_unknown',
      reason: 'EngineKilled',
      message: `the engine was ended by ${end.end.signal}${end.end.byUs ? ', as was asked for' : ''}`,
    };
  }
  // Codes of the engines are 0 and 1: with any other it has crashed, and has not saved what it knew.
  if (end.end.code > 1) {
    return {
      phase: 'apply_unknown',
      reason: 'EngineKilled',
      message: `the engine crashed with exit code ${end.end.code}`,
    };
  }
  if (state?.kind === 'torn') {
    return {
      phase: 'apply_unknown',
      reason: 'StateIncomplete',
      message: `the engine left a state that is not whole: ${state.problem}`,
    };
  }
  const [first] = result.inDoubt;
  if (first !== undefined) {
    return {
      phase: 'apply_unknown',
      reason: 'StateIncomplete',
      message: `${result.inDoubtCount} actions may have been carried out without the state saying so, such as ${first.action} ${first.address}`,
    };
  }
  return end.end.code === 0 ? { phase: 'applied' } : judgeFailed(result);
}

/** An engine that has ended with code 1, and whose state agrees with what it said. */
function judgeFailed({ interrupted, diagnostics, serialGrew }: OperationResult): ApplyVerdict {
  const partial = serialGrew === true ? ({ isPartial: true } as const) : {};
  if (interrupted !== undefined) {
    switch (interrupted.by) {
      case 'request':
      case 'revoked':
        return {
          phase: 'cancelled',
          reason: 'Interrupted',
          message: interrupted.reason ?? 'the apply was interrupted',
          ...partial,
        };
      case 'timeout':
        return {
          phase: 'failed',
          reason: 'ApplyTimeout',
          message: 'the apply took longer than applyTimeout',
          ...partial,
        };
      case 'released':
      case 'outside':
        return {
          phase: 'failed',
          reason: 'Interrupted',
          message: interrupted.reason ?? 'a signal from outside interrupted the apply',
          ...partial,
        };
    }
  }
  const stale = diagnostics.find(({ severity, summary }) => severity === 'error' && STALE.includes(summary));
  if (stale !== undefined && serialGrew !== true) {
    return {
      phase: 'failed',
      reason: 'StalePlan',
      message: `${stale.summary}: the state has changed since the plan was made`,
      hasNoEffect: true,
    };
  }
  return {
    phase: 'failed',
    reason: 'ApplyFailed',
    message: firstError(diagnostics) ?? 'the engine ended with exit code 1',
    ...partial,
  };
}

/** The first error with its place, in one line. */
function firstError(diagnostics: readonly Diagnostic[]): string | undefined {
  const error = diagnostics.find(({ severity }) => severity === 'error');
  if (error === undefined) return undefined;
  const { summary, detail, file, line, address } = error;
  const place = file === undefined ? address : line === undefined ? file : `${file}:${line}`;
  const text = detail === undefined ? summary : `${summary}: ${detail.split('\n')[0]}`;
  return place === undefined ? text : `${place}: ${text}`;
}
