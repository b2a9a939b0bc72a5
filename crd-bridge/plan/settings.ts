import type { BridgeConfig } from '../config.js';
import type { DrSettings } from './types.js';

/** What the flags of the bridge say about DR plans. */
export function drSettings(config: BridgeConfig): DrSettings {
  const account = config['default-service-account'];
  return {
    controllerIdentity: config['controller-identity'],
    ...(account !== undefined && { defaultServiceAccount: account }),
    mirror: { debounceMs: config['mirror-debounce'], intervalMs: config['mirror-interval'] },
    largeMirrorIntervalMs: config['mirror-interval-large'],
    bounds: {
      undoStepMs: config['undo-step'],
      settleMs: config.settle,
      stopWaitMs: config['stop-wait'],
      pauseReminderMs: config['pause-reminder'],
      lastAttemptMs: config['last-attempt'],
    },
    authorization: config.authorization,
    gitOps: config['gitops-executions'],
    planWaitMs: config['plan-wait'],
    taskWaitMs: config['task-wait'],
    answers: {
      verified: config['webhook-port'] !== undefined,
      allowUnverified: config['unverified-approvals'],
    },
  };
}
