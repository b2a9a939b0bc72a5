import type { Plant } from './plant.js';
import type { Endpoint } from './endpoint.js';
import type { Objects } from './objects.js';
import type { OutsideTargets } from './outside.js';
import type { Striker } from './striker.js';
import type { Random } from './random.js';

/** What the set pieces and the session share. */
export interface Stage {
  plant: Plant;
  endpoint: Endpoint;
  objects: Objects;
  outside: OutsideTargets;
  striker: Striker;
  random: Random;
  log: (line: string) => void;
}
