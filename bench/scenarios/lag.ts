import { isTerminalItem } from '../../api/core/phase.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import type { Scenario } from '../lib/bench.js';
import { timesOf } from '../lib/figures.js';
import { execute, expectSuccess, prepareRuns, watchRuns } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { callPath } from '../peers/peer.js';

export const lag: Scenario = {
  name: 'lag',
  summary: 'from the answer to an action to its end in status, with 50 live runs',
  sizes: {
    runs: { value: 50, meaning: 'live runs' },
    actions: { value: 6, meaning: 'calls of each, one after another' },
    'call-ms': { value: 5000, meaning: 'milliseconds of a call, give or take two fifths' },
  },
  async run(bench) {
    const [count, actions, delay] = [bench.size('runs'), bench.size('actions'), bench.size('call-ms')];
    const spread = Math.round(delay * 0.4);
    const planned = await prepareRuns(bench, {
      // Calls of one length would end, and be shown, in waves.
      shape: { stages: 1, actions, delay: [delay - spread, delay + spread] },
      count,
    });
    const watch = await watchRuns(bench, planned[0]?.namespace ?? '');
    /** When an action was first seen to have ended, by the path of its call. */
    const visible = new Map<string, number>();
    watch.onChange(({ object, at }) => {
      for (const path of endedPaths(object)) if (!visible.has(path)) visible.set(path, at);
    });
    try {
      const { value: ended, figures } = await measured(
        bench,
        { prefix: '', runs: count, ownWrites: count },
        () =>
          execute(bench, planned, {
            parallel: 24,
            limitMs: 180_000 + actions * delay * 4,
            text: `${count} live runs`,
          }),
      );
      expectSuccess(bench, ended);
      const lags = bench.recorder.calls.flatMap(({ path, answeredAt }) => {
        const seen = visible.get(path);
        return answeredAt === undefined || seen === undefined ? [] : [Math.max(0, seen - answeredAt)];
      });
      return [
        ...timesOf('answered to visible', lags),
        { name: 'actions never seen', value: count * actions - visible.size, unit: 'calls', better: 'lower' },
        ...figures,
      ];
    } finally {
      await watch.close();
    }
  },
};

/** Paths of the calls whose actions an execution shows as ended. */
function endedPaths(object: KubeObject): string[] {
  const { metadata, status } = object as unknown as DRPlanExecution;
  return (status?.stageStatuses ?? []).flatMap((stage, s) =>
    (stage.workflowExecutions ?? []).flatMap((workflow, w) =>
      (workflow.actionStatuses ?? []).flatMap((action, a) =>
        isTerminalItem(action.phase) ? [callPath(metadata.name, s, w, a)] : [],
      ),
    ),
  );
}
