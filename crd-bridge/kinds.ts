/** The bridge's table: one line a system. */
import type { Row } from './core/row.js';
import type { Services } from './core/services.js';
import { planRows } from './plan/rows.js';

/** Makes the rows of all systems. */
export const createRows = (services: Services): Row[] => [
  // One line a system.
  ...planRows(services),
];
