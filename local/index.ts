/**
 * The embedded default: a real Kubernetes control plane and a Temporal server on
 * 127.0.0.1 without a container engine, and what is needed to look after them.
 */
export { up } from './up.js';
export { down } from './down.js';
export { status } from './status.js';
export { doctor } from './doctor.js';
export { supervise } from './supervise.js';
export { findPrograms } from './binaries.js';
export { lookup } from './binaries-lookup.js';
export { readEndpoints } from './endpoints.js';
export { podAnnotations } from './fake-node/stages.js';
export type { UpOptions, UpResult, ChildCommand } from './options.js';
export type { DownOptions, DownResult } from './down.js';
export type { StatusResult, ProcessStatus, ServiceStatus } from './status.js';
export type { DoctorOptions, Finding } from './doctor.js';
export type { Endpoints } from './endpoints.js';
export type { Progress, ProgressEvent } from './progress.js';
