/** Metrics that others make, as far as dashboards, alerts and the manual name them. A test finds them on the running programs. */
import type { MetricRow } from './metric-row.js';

const worker = ['worker'] as const;
const ACTIVITY = ['task_queue', 'activity_type'] as const;

/** Of Temporal's SDK: what tells whether workers poll, keep up and get answers. All carry `namespace` too. */
export const SDK_METRICS: MetricRow[] = [
  {
    name: 'temporal_activity_execution_failed_total',
    type: 'counter',
    labels: ACTIVITY,
    help: 'Attempts of activities that failed; most are tried again.',
    programs: worker,
    isRare: true,
  },
  {
    name: 'temporal_activity_execution_latency_seconds',
    type: 'histogram',
    labels: ACTIVITY,
    help: 'Time of one attempt of an activity, by its type: one for each type of action, and those that serve all.',
    programs: worker,
  },
  {
    name: 'temporal_activity_schedule_to_start_latency_seconds',
    type: 'histogram',
    labels: ['task_queue'],
    help: 'How long activities wait until a worker takes them; long where all slots are taken, or too few workers run.',
    programs: worker,
  },
  {
    name: 'temporal_activity_task_received_total',
    type: 'counter',
    labels: ['task_queue'],
    help: 'Polls for activities that brought one.',
    programs: worker,
  },
  {
    name: 'temporal_activity_poll_no_task_total',
    type: 'counter',
    labels: ['task_queue'],
    help: 'Polls for activities that Temporal answered with nothing to do.',
    programs: worker,
    isRare: true,
  },
  {
    name: 'temporal_long_request_total',
    type: 'counter',
    labels: ['operation'],
    help: 'Polls that were sent to Temporal.',
    programs: worker,
  },
  {
    name: 'temporal_long_request_failure_total',
    type: 'counter',
    labels: ['operation', 'status_code'],
    help: 'Polls that failed.',
    programs: worker,
    isRare: true,
  },
  {
    name: 'temporal_num_pollers',
    type: 'gauge',
    labels: ['task_queue', 'poller_type'],
    help: 'Polls under way at this moment.',
    programs: worker,
  },
  {
    name: 'temporal_request_total',
    type: 'counter',
    labels: ['operation'],
    help: 'Other requests that were sent to Temporal.',
    programs: worker,
  },
  {
    name: 'temporal_request_failure_total',
    type: 'counter',
    labels: ['operation', 'status_code'],
    help: 'Other requests to Temporal that failed.',
    programs: worker,
    isRare: true,
  },
  {
    name: 'temporal_request_latency_seconds',
    type: 'histogram',
    labels: ['operation'],
    help: 'Time of such a request.',
    programs: worker,
  },
  {
    name: 'temporal_sticky_cache_size',
    type: 'gauge',
    labels: [],
    help: 'Runs and stages that the worker keeps in memory.',
    programs: worker,
  },
  {
    name: 'temporal_worker_task_slots_available',
    type: 'gauge',
    labels: ['task_queue', 'worker_type'],
    help: 'Tasks of a kind that the worker could take in addition.',
    programs: worker,
  },
  {
    name: 'temporal_worker_task_slots_used',
    type: 'gauge',
    labels: ['task_queue', 'worker_type'],
    help: 'Tasks of a kind that the worker carries out.',
    programs: worker,
  },
  {
    name: 'temporal_workflow_task_execution_failed_total',
    type: 'counter',
    labels: ['task_queue', 'workflow_type', 'failure_reason'],
    help: 'Tasks of workflow code that failed: the code does not fit a run, or has a fault.',
    programs: worker,
    isRare: true,
  },
  {
    name: 'temporal_workflow_task_schedule_to_start_latency_seconds',
    type: 'histogram',
    labels: ['task_queue'],
    help: 'How long tasks of workflow code wait until a worker takes them.',
    programs: worker,
  },
];

const both = ['bridge', 'worker'] as const;

/** Of Node and of the process. There are more. */
export const PROCESS_METRICS: MetricRow[] = [
  {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    labels: [],
    help: 'How late timers fire, in the slowest hundredth.',
    programs: both,
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    labels: [],
    help: 'CPU time that was used.',
    programs: both,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory that is in use.',
    programs: both,
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the program was started.',
    programs: both,
  },
];
