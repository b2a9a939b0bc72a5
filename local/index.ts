/**
 * The embedded default: a real Kubernetes control plane and a Temporal server on
 * 127.0.0.1 without a container engine, and what is needed to look after them.
 */
export { up } from './up.js';
export { down } from './down.js';
export { status } from './status.js';
export { doctor } from './doctor.js';
export { describeEngine, withBuiltEngine } from './engines.js';
export { buildOpenTofu } from './binaries.js';
export { offLimits } from './off-limits.js';
export { supervise } from './supervise.js';
export { lookup } from './binaries-lookup.js';
export { UpInterrupted } from './options.js';
export type { UpOptions, UpResult, ChildCommand } from './options.js';
export type { StatusResult } from './status.js';
export type { Finding } from './finding.js';
export type { Progress } from './progress.js';
