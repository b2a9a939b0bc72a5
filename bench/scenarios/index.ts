import type { Scenario } from '../lib/bench.js';
import { burst } from './burst.js';
import { cancel } from './cancel.js';
import { commands } from './commands.js';
import { concurrency } from './concurrency.js';
import { floor } from './floor.js';
import { idle } from './idle.js';
import { lag } from './lag.js';
import { latency } from './latency.js';
import { long } from './long.js';
import { readmission } from './readmission.js';
import { resume } from './resume.js';
import { scale } from './scale.js';
import { throughput } from './throughput.js';
import { waits } from './waits.js';
import { wide } from './wide.js';
import { writes } from './writes.js';

/** All scenarios, in the order in which they are run and shown. */
export const SCENARIOS: readonly Scenario[] = [
  latency,
  floor,
  throughput,
  scale,
  concurrency,
  lag,
  cancel,
  resume,
  wide,
  waits,
  long,
  readmission,
  writes,
  commands,
  burst,
  idle,
];
