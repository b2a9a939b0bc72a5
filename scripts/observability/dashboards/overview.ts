import { quantiles, rates, whole } from '../dashboard.js';
import type { Dashboard } from '../dashboard.js';

/** Whether all is well, and where to look if not. */
export const OVERVIEW: Dashboard = {
  uid: 'drover-overview',
  title: 'Drover / Overview',
  description: 'Whether Drover works, what runs, and what waits.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Bridges ready',
          description:
            'Bridges whose /readyz says ok. With none, nothing starts and no status moves; runs go on.',
          kind: 'number',
          unit: 'short',
          alarm: { at: 1, below: true },
          queries: [{ expr: 'sum(drover_ready{program="bridge"})', legend: 'bridges' }],
        },
        {
          title: 'Workers ready',
          description: 'Workers whose /readyz says ok. With none, runs stand still.',
          kind: 'number',
          unit: 'short',
          alarm: { at: 1, below: true },
          queries: [{ expr: 'sum(drover_ready{program="worker"})', legend: 'workers' }],
        },
        {
          title: 'Temporal reachable',
          description: '1 while Temporal answers every bridge.',
          kind: 'number',
          unit: 'short',
          alarm: { at: 1, below: true },
          queries: [{ expr: 'min(drover_bridge_temporal_reachable)', legend: 'reachable' }],
        },
        {
          title: 'Stalled',
          description: 'Executions that cannot go on or start, without waiting for a person.',
          kind: 'number',
          unit: 'short',
          alarm: { at: 1 },
          queries: [
            { expr: 'sum(max by (reason) (drover_bridge_runs_stalled)) or vector(0)', legend: 'stalled' },
          ],
        },
        {
          title: 'Wait for a person',
          description: 'Runs that wait for an approval, or for a decision about a paused stage.',
          kind: 'number',
          unit: 'short',
          queries: [
            {
              expr: 'sum(max by (phase) (drover_bridge_runs{phase=~"AwaitingApproval|Paused"}))',
              legend: 'runs',
            },
          ],
        },
        {
          title: 'Certificate of admission',
          description:
            'Time until the certificate runs out that admission is served with; empty without admission.',
          kind: 'number',
          unit: 's',
          alarm: { at: 7 * 86_400, below: true },
          queries: [
            {
              expr: 'min((drover_bridge_webhook_certificate_expiry_timestamp_seconds > 0) - time())',
              legend: 'left',
            },
          ],
        },
      ],
    },
    {
      title: 'Runs',
      panels: [
        {
          title: 'Executions that are not over',
          description: 'By how they stand.',
          unit: 'short',
          stacked: true,
          queries: [whole('drover_bridge_runs', ['phase'])],
        },
        {
          title: 'Started and ended',
          description: 'Runs a second.',
          unit: 'cps',
          queries: [
            { expr: 'sum(rate(drover_bridge_runs_started_total[$__rate_interval]))', legend: 'started' },
            rates('drover_bridge_runs_ended_total', ['operation', 'outcome']),
          ],
        },
        {
          title: 'Stalled, by reason',
          description: 'What keeps executions from going on. The runbooks say what to do about each reason.',
          unit: 'short',
          stacked: true,
          queries: [whole('drover_bridge_runs_stalled', ['reason'])],
        },
        {
          title: 'Actions that failed',
          description: 'By type. Each is an Event on its execution.',
          unit: 'cps',
          queries: [rates('drover_bridge_actions_ended_total', ['type'], '{phase="Failed"}')],
        },
        {
          title: 'Status behind runs',
          description: 'Time from when a run says something until its status shows it.',
          unit: 's',
          queries: quantiles('drover_bridge_mirror_lag_seconds', { by: ['verb'] }),
        },
        {
          title: 'Wait for their turn',
          description: 'Executions that start once workers have taken up those before them.',
          unit: 'short',
          queries: [{ expr: 'max(drover_bridge_starts_waiting)', legend: 'waiting' }],
        },
      ],
    },
    {
      title: 'What Drover needs',
      panels: [
        {
          title: 'Requests to the Kubernetes API',
          description: 'By program and answer. 429 means that the API server asks to wait.',
          unit: 'reqps',
          queries: [rates('drover_api_requests_total', ['program', 'code'])],
        },
        {
          title: 'Answer times of the Kubernetes API',
          description: 'In the slowest hundredth; watches left out.',
          unit: 's',
          queries: quantiles('drover_api_request_seconds', {
            by: ['program', 'verb'],
            of: [0.99],
            where: '{verb!="watch"}',
          }),
        },
        {
          title: 'Admission reviews',
          description: 'Time of a review. The API server waits five seconds.',
          unit: 's',
          queries: quantiles('drover_bridge_admission_seconds', { by: ['kind'] }),
        },
        {
          title: 'Reviews without a response',
          description:
            'The failure policy decides about these; with the usual one, what was asked is refused.',
          unit: 'cps',
          queries: [rates('drover_bridge_admission_failures_total', ['reason'])],
        },
        {
          title: 'Polls of the workers',
          description: 'Polls sent to Temporal, and those that failed.',
          unit: 'reqps',
          queries: [
            rates('temporal_long_request_total', ['operation']),
            {
              expr: 'sum by (operation, status_code) (rate(temporal_long_request_failure_total[$__rate_interval]))',
              legend: '{{operation}} failed: {{status_code}}',
            },
          ],
        },
        {
          title: 'Keys of seals',
          description: 'Age of the newest key, and time since the ring was last read.',
          unit: 's',
          queries: [
            {
              expr: 'time() - max by (program) (drover_seal_newest_key_timestamp_seconds)',
              legend: '{{program}}: age of the newest key',
            },
            {
              expr: 'time() - min by (program) (drover_seal_last_read_timestamp_seconds)',
              legend: '{{program}}: since it was read',
            },
          ],
        },
      ],
    },
  ],
};
