import type { ProgramName, ToolName } from './binaries-lookup.js';
import type { DataPaths } from './paths.js';
import type { PortName, ProcessName } from './state.js';

/** The processes of the control plane. */
export type ControlPlaneProcess = Extract<
  ProcessName,
  'etcd' | 'apiserver' | 'controllerManager' | 'scheduler' | 'kwok'
>;

/** Programs the control plane is made of. */
export type ControlPlaneProgram = Exclude<ProgramName, 'kubectl' | 'temporal' | ToolName>;

/**
 * What the control plane is laid out from.
 *
 * Seam: a second control plane, such as another hub, is one more call with folders and ports of its own.
 */
export interface ControlPlaneOptions {
  paths: DataPaths;
  ports: Record<PortName, number>;
  programs: Record<ControlPlaneProgram, { path: string }>;
  /** Skips fsync: faster, and data may be lost when the machine (not just a process) dies. */
  ephemeral: boolean;
}
