import { quantiles, rates, slotWaits, whole } from '../dashboard.js';
import type { Dashboard } from '../dashboard.js';

/** Whether there are enough replicas, slots and memory. */
export const CAPACITY: Dashboard = {
  uid: 'drover-capacity',
  title: 'Drover / Capacity',
  description: 'Whether bridges and workers keep up, and what they take: see the page on sizing.',
  rows: [
    {
      title: 'Processes',
      panels: [
        {
          title: 'CPU',
          description: 'Cores that each process uses. One bridge or worker uses little more than one.',
          unit: 'cores',
          queries: [
            {
              expr: 'rate(process_cpu_seconds_total[$__rate_interval]) * on (job, instance) group_left (program) (drover_ready >= bool 0)',
              legend: '{{program}} {{instance}}',
            },
          ],
        },
        {
          title: 'Memory',
          description: 'Part of the memory limit that is in use.',
          unit: 'percentunit',
          queries: [
            {
              expr: 'process_resident_memory_bytes / on (job, instance) group_right drover_memory_limit_bytes',
              legend: '{{program}} {{instance}}',
            },
          ],
        },
        {
          title: 'Event loop',
          description:
            'How late timers fire in the slowest hundredth. Beyond 100 ms the process has too much to do.',
          unit: 's',
          queries: [
            {
              expr: 'nodejs_eventloop_lag_p99_seconds * on (job, instance) group_left (program) (drover_ready >= bool 0)',
              legend: '{{program}} {{instance}}',
            },
          ],
        },
        {
          title: 'Since the start',
          description: 'A process that starts again and again is killed, or ends by itself: see its log.',
          unit: 's',
          queries: [
            {
              expr: '(time() - process_start_time_seconds) * on (job, instance) group_left (program) (drover_ready >= bool 0)',
              legend: '{{program}} {{instance}}',
            },
          ],
        },
        {
          title: 'Builds',
          description: 'Versions that run.',
          unit: 'short',
          kind: 'table',
          queries: [{ expr: 'count by (program, version) (drover_build_info)', legend: '' }],
        },
      ],
    },
    {
      title: 'Workers',
      panels: [
        {
          title: 'Slots in use',
          description:
            'Part of the slots that is taken. At 1, further actions wait: DROVER_MAX_ACTIVITIES, DROVER_MAX_WAITS.',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum by (task_queue, worker_type) (temporal_worker_task_slots_used) / (sum by (task_queue, worker_type) (temporal_worker_task_slots_used) + sum by (task_queue, worker_type) (temporal_worker_task_slots_available))',
              legend: '{{worker_type}} {{task_queue}}',
            },
          ],
        },
        {
          title: 'Wait for a slot',
          description: 'How long tasks wait until a worker takes them. More workers shorten it.',
          unit: 's',
          queries: slotWaits(),
        },
        {
          title: 'Polls under way',
          description: 'None means that a worker asks Temporal for nothing.',
          unit: 'short',
          queries: [
            {
              expr: 'sum by (task_queue, poller_type) (temporal_num_pollers)',
              legend: '{{poller_type}} {{task_queue}}',
            },
          ],
        },
        {
          title: 'Polls that brought something',
          description: 'Activities that were taken, and polls with nothing to do.',
          unit: 'cps',
          queries: [
            rates('temporal_activity_task_received_total', ['task_queue']),
            {
              expr: 'sum by (task_queue) (rate(temporal_activity_poll_no_task_total[$__rate_interval]))',
              legend: '{{task_queue}}: nothing to do',
            },
          ],
        },
        {
          title: 'Runs in memory',
          description:
            'Runs and stages that workers keep: DROVER_MAX_CACHED_WORKFLOWS is the most of one worker.',
          unit: 'short',
          queries: [{ expr: 'sum(temporal_sticky_cache_size)', legend: 'cached' }],
        },
        {
          title: 'Requests to Temporal',
          description: 'Time of a request in the slowest hundredth, and failed requests a second.',
          unit: 's',
          queries: [
            ...quantiles('temporal_request_latency_seconds', { of: [0.99] }),
            rates('temporal_request_failure_total', ['operation', 'status_code']),
          ],
        },
        {
          title: 'Workflow code that fails',
          description: 'Any is a fault, or code that does not fit a run: see Upgrading.',
          unit: 'cps',
          queries: [
            rates('temporal_workflow_task_execution_failed_total', ['workflow_type', 'failure_reason']),
          ],
        },
      ],
    },
    {
      title: 'Bridges',
      panels: [
        {
          title: 'Objects that wait',
          description: 'Waiting to be looked at, by kind.',
          unit: 'short',
          queries: [{ expr: 'sum by (kind) (drover_bridge_queue_depth)', legend: '{{kind}}' }],
        },
        {
          title: 'One look',
          description:
            'Time of one look at an object in the slowest hundredth, and looks that failed a second.',
          unit: 's',
          queries: [
            ...quantiles('drover_bridge_reconcile_seconds', { by: ['kind'], of: [0.99] }),
            {
              expr: 'sum by (kind) (rate(drover_bridge_reconcile_errors_total[$__rate_interval]))',
              legend: '{{kind}} failed',
            },
          ],
        },
        {
          title: 'Locks',
          description: 'Objects that are being written, and work that waits for one of them.',
          unit: 'short',
          queries: [
            { expr: 'sum by (state) (drover_bridge_locks)', legend: '{{state}}' },
            { expr: 'max(drover_bridge_lock_longest_held_seconds)', legend: 'seconds that one is held' },
          ],
        },
        {
          title: 'Objects in caches',
          description: 'By kind. An execution that has ended takes about 1.3 KB.',
          unit: 'short',
          queries: [whole('drover_bridge_cache_objects', ['kind'])],
        },
        {
          title: 'Age of what caches know',
          description: 'Time since the watch of a kind last reported something, and since the last list.',
          unit: 's',
          queries: [
            {
              expr: 'time() - min by (kind) (drover_bridge_cache_last_event_timestamp_seconds)',
              legend: '{{kind}}: event',
            },
            {
              expr: 'time() - min by (kind) (drover_bridge_cache_last_list_timestamp_seconds)',
              legend: '{{kind}}: list',
            },
          ],
        },
        {
          title: 'Watches',
          description: 'Lists and watches that failed, and changes that a watch has lost.',
          unit: 'cps',
          queries: [
            {
              expr: 'sum by (kind) (rate(drover_bridge_cache_failures_total[$__rate_interval]))',
              legend: '{{kind}} failed',
            },
            {
              expr: 'sum by (kind) (rate(drover_bridge_cache_repairs_total[$__rate_interval]))',
              legend: '{{kind}} lost',
            },
          ],
        },
        {
          title: 'Plans',
          description: 'All plans by phase.',
          unit: 'short',
          queries: [whole('drover_bridge_plans', ['phase'])],
        },
        {
          title: 'Removal of ended executions',
          description: 'Due when the last pass came to them, and removed a second.',
          unit: 'short',
          queries: [
            { expr: 'max(drover_bridge_retention_due)', legend: 'due' },
            {
              expr: 'sum(rate(drover_bridge_retention_removed_total[$__rate_interval]))',
              legend: 'removed a second',
            },
          ],
        },
        {
          title: 'Writes to the Kubernetes API',
          description: 'By kind of object and result. Conflicts are usual where several replicas work.',
          unit: 'reqps',
          queries: [rates('drover_bridge_api_writes_total', ['kind', 'verb', 'result'])],
        },
      ],
    },
    {
      title: 'States of Terraform runs',
      panels: [
        {
          title: 'Requests to the server',
          description: 'What runners, workers and engines ask, and the status of the answers.',
          unit: 'reqps',
          queries: [rates('drover_server_requests_total', ['operation', 'code'])],
        },
        {
          title: 'One request to the server',
          description: 'Time to the end of the answer. Who waits for an operation waits for up to a minute.',
          unit: 's',
          queries: quantiles('drover_server_request_seconds', { by: ['operation'], of: [0.99] }),
        },
        {
          title: 'Store of states',
          description: 'Whether the server reaches its store: 1 or 0.',
          unit: 'short',
          queries: [{ expr: 'min(drover_server_store_available)', legend: 'store' }],
        },
      ],
    },
  ],
};
