import { canonicalJson } from '../../api/core/json.js';
import type { ActionInput } from '../../api/plan/snapshot/run.js';
import type { RunInput } from './contract.js';

/**
 * What `inputDigest` is the SHA-256 of: everything in the input of a run but its identity, which carries the digest, and
 * the bodies of its actions, which have seals of their own.
 */
export function digestText({ run: _, ...input }: RunInput): string {
  return canonicalJson({
    ...input,
    stages: input.stages.map((stage) => ({
      ...stage,
      workflows: stage.workflows.map((workflow) => ({
        ...workflow,
        actions: workflow.actions.map(withoutBody),
      })),
    })),
    undo: input.undo.map((stage) => ({
      ...stage,
      steps: stage.steps.map((step) => ({ ...step, input: withoutBody(step.input) })),
    })),
  });
}

function withoutBody({ body: _, ...action }: ActionInput): Omit<ActionInput, 'body'> {
  return action;
}
