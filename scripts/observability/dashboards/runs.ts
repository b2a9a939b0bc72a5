import { quantiles, rates, slotWaits, whole } from '../dashboard.js';
import type { Dashboard } from '../dashboard.js';

/** What a run spends its time on. No metric names a run: choose the time in which it ran. */
export const RUNS: Dashboard = {
  uid: 'drover-run',
  title: 'Drover / One run',
  description:
    'What runs spend their time on. Metrics name no objects: set the time range to that of the run (status.startTime to status.completionTime). "drover describe" and "drover logs" tell of the run itself, and Temporal\'s Web UI shows its history.',
  rows: [
    {
      title: 'How long it takes',
      panels: [
        {
          title: 'Runs',
          description: 'Time from start to end.',
          unit: 's',
          queries: quantiles('drover_bridge_run_seconds', { by: ['operation', 'outcome'] }),
        },
        {
          title: 'Stages',
          description: 'Time from start to end, skipped ones left out.',
          unit: 's',
          queries: quantiles('drover_bridge_stage_seconds', {
            by: ['operation', 'phase'],
            where: '{phase!="Skipped"}',
          }),
        },
        {
          title: 'Actions',
          description: 'Time from start to end by type, attempts and waits included.',
          unit: 's',
          queries: quantiles('drover_bridge_action_seconds', { by: ['type'] }),
        },
      ],
    },
    {
      title: 'What it does',
      panels: [
        {
          title: 'Actions that run',
          description: 'By type. Wait waits for an object, Approval for a person, Plan for another run.',
          unit: 'short',
          stacked: true,
          queries: [whole('drover_bridge_actions_running', ['type'])],
        },
        {
          title: 'Actions that ended',
          description: 'By type and phase.',
          unit: 'cps',
          queries: [rates('drover_bridge_actions_ended_total', ['type', 'phase'])],
        },
        {
          title: 'Stages that ended',
          description: 'By operation and phase.',
          unit: 'cps',
          queries: [rates('drover_bridge_stages_ended_total', ['operation', 'phase'])],
        },
        {
          title: 'One attempt in the worker',
          description: 'By type of activity: what an attempt takes without its waits and repetitions.',
          unit: 's',
          queries: quantiles('temporal_activity_execution_latency_seconds', {
            by: ['activity_type'],
            of: [0.99],
          }),
        },
        {
          title: 'Attempts that failed',
          description: 'By type of activity. Most are tried again.',
          unit: 'cps',
          queries: [rates('temporal_activity_execution_failed_total', ['activity_type'])],
        },
        {
          title: 'Requests to the Kubernetes API',
          description: "The workers' requests by verb and resource, the ten most frequent.",
          unit: 'reqps',
          queries: [
            {
              expr: 'topk(10, sum by (verb, resource) (rate(drover_api_requests_total{program="worker"}[$__rate_interval])))',
              legend: '{{verb}} {{resource}}',
            },
          ],
        },
      ],
    },
    {
      title: 'What it waits for',
      panels: [
        {
          title: 'A worker',
          description: 'How long actions and workflow code wait until a worker takes them.',
          unit: 's',
          queries: slotWaits(),
        },
        {
          title: 'A person',
          description: 'Runs that wait for an approval or for a decision about a paused stage.',
          unit: 'short',
          queries: [whole('drover_bridge_runs', ['phase'], '{phase=~"AwaitingApproval|Paused"}')],
        },
        {
          title: 'Its status',
          description: 'Time from when a run says something until its status shows it, and updates a second.',
          unit: 's',
          queries: quantiles('drover_bridge_mirror_lag_seconds', { by: ['kind', 'verb'] }),
        },
        {
          title: 'Plans that are held',
          description: 'By a run, or by nobody any more.',
          unit: 'short',
          queries: [whole('drover_bridge_plans_held', ['by'])],
        },
        {
          title: 'Updates of runs',
          description: 'What runs have told the bridge, a second: mirror is progress, finish is the end.',
          unit: 'cps',
          queries: [rates('drover_bridge_updates_total', ['kind'])],
        },
        {
          title: 'Stalled, by reason',
          description: 'What keeps executions from going on.',
          unit: 'short',
          queries: [whole('drover_bridge_runs_stalled', ['reason'])],
        },
      ],
    },
  ],
};
