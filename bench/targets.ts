/**
 * What the figures are held against. Measured on two cores with everything on them, `etcd` without fsync; a target is
 * looked at only where a scenario was run at the size that it was set for.
 */

/** A bound on a figure. */
export interface Target {
  scenario: string;
  figure: string;
  /** What the median has to be. */
  must: { atMost: number } | { atLeast: number };
  /** What it would be good to reach. */
  stretch?: number;
  /** Sizes below which the figure says nothing about the target. */
  sizes?: Record<string, number>;
  /**
   * The figure of the scenario `floor` that it consists of: where an empty run alone is this much of it, the engine
   * leaves no room and a miss is excused.
   */
  floor?: string;
}

/** Share of a figure from which on the engine beneath is to blame for a miss. */
export const EXCUSED_FROM = 0.85;

export const TARGETS: readonly Target[] = [
  { scenario: 'latency', figure: '1x1 p50', must: { atMost: 180 }, stretch: 140, floor: '1x1 p50' },
  { scenario: 'latency', figure: '3x3 p50', must: { atMost: 450 }, stretch: 380, floor: '3x3 p50' },
  {
    scenario: 'latency',
    figure: '1x1 CPU per run',
    must: { atMost: 0.25 },
    stretch: 0.2,
    floor: '1x1 CPU per run',
  },
  { scenario: 'latency', figure: '1x1 API writes per run', must: { atMost: 7 } },
  { scenario: 'latency', figure: '3x3 API writes per run', must: { atMost: 13 } },
  {
    scenario: 'throughput',
    figure: '1x1 throughput',
    must: { atLeast: 450 },
    stretch: 600,
    sizes: { runs: 300 },
    floor: '1x1 throughput',
  },
  {
    scenario: 'throughput',
    figure: '3x3 throughput',
    must: { atLeast: 220 },
    sizes: { runs: 300 },
    floor: '3x3 throughput',
  },
  {
    scenario: 'throughput',
    figure: '1x1 CPU per run',
    must: { atMost: 0.25 },
    stretch: 0.2,
    floor: '1x1 CPU per run',
  },
  { scenario: 'throughput', figure: '1x1 API writes per run', must: { atMost: 7 } },
  { scenario: 'throughput', figure: '3x3 API writes per run', must: { atMost: 13 } },
  {
    scenario: 'scale',
    figure: 'CPU per run, 4 of each against 1',
    must: { atMost: 1.1 },
    sizes: { runs: 100 },
  },
  {
    scenario: 'concurrency',
    figure: 'all ended after',
    must: { atMost: 3 },
    sizes: { runs: 20, 'call-ms': 2000 },
    floor: 'waiting, all ended after',
  },
  { scenario: 'cancel', figure: 'request to terminal phase p50', must: { atMost: 1000 } },
  { scenario: 'cancel', figure: 'calls aborted', must: { atLeast: 1 } },
  { scenario: 'cancel', figure: 'status right', must: { atLeast: 1 } },
  { scenario: 'resume', figure: 'worker killed: finished actions repeated', must: { atMost: 0 } },
  {
    scenario: 'resume',
    figure: 'worker killed: restart to end beyond the work left',
    must: { atMost: 12 },
    stretch: 5,
  },
  { scenario: 'resume', figure: 'bridge killed: finished actions repeated', must: { atMost: 0 } },
  {
    scenario: 'resume',
    figure: 'bridge killed: restart to end beyond the work left',
    must: { atMost: 12 },
    stretch: 5,
  },
  {
    scenario: 'readmission',
    figure: 'writes of objects',
    must: { atMost: 0 },
    sizes: { plans: 500, executions: 1400 },
  },
  {
    scenario: 'readmission',
    figure: 'bridge ready after',
    must: { atMost: 3 },
    sizes: { plans: 500, executions: 1400 },
  },
  { scenario: 'burst', figure: 'drained after', must: { atMost: 600 }, sizes: { executions: 5000 } },
  { scenario: 'burst', figure: 'lost', must: { atMost: 0 } },
  { scenario: 'burst', figure: 'memory peak, bridge', must: { atMost: 300 }, sizes: { executions: 5000 } },
  { scenario: 'burst', figure: 'memory peak, worker', must: { atMost: 600 }, sizes: { executions: 5000 } },
  { scenario: 'commands', figure: 'get p50', must: { atMost: 400 } },
  { scenario: 'commands', figure: 'get memory peak', must: { atMost: 120 } },
  { scenario: 'commands', figure: 'help p50', must: { atMost: 200 } },
  { scenario: 'lag', figure: 'answered to visible p99', must: { atMost: 1000 }, sizes: { runs: 50 } },
  { scenario: 'long', figure: 'status size', must: { atMost: 1024 }, sizes: { stages: 200, actions: 10 } },
  {
    scenario: 'long',
    figure: 'written, of the final status',
    must: { atMost: 40 },
    sizes: { stages: 200, actions: 10 },
  },
  {
    scenario: 'long',
    figure: 'history of the largest workflow',
    must: { atMost: 19_999 },
    sizes: { stages: 200, actions: 10 },
  },
];
