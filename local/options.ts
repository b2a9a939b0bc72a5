import type { Endpoints } from './endpoints.js';
import type { TypedObject } from '../kube/object.js';
import type { Progress } from './progress.js';

/** A program of ours that `up` starts once Kubernetes and Temporal serve. */
export interface ChildCommand {
  command: string;
  args: string[];
  /** Added to the environment `up` gives it. */
  env?: Record<string, string>;
}

/** What to bring up. */
export interface UpOptions {
  /** Where everything is kept; made when missing. */
  dataDir: string;
  /** Temporal in memory, no fsync, data thrown away by `down`. Default false: everything on disk. */
  ephemeral?: boolean;
  /** A kubeconfig file: use that cluster instead of the embedded control plane. */
  kubeconfig?: string;
  /** Use the cluster kubectl would use now instead of the embedded control plane. */
  useCurrentCluster?: boolean;
  /** `HOST:PORT` of the user's own Temporal, instead of the embedded one. */
  temporal?: string;
  /** Temporal namespace. Default `default`. */
  temporalNamespace?: string;
  /** Folder of the CustomResourceDefinitions to apply. Default none, for a cluster that something else is put on. */
  crdDir?: string;
  /** Applied to the embedded control plane after the definitions. */
  extraObjects?: TypedObject[];
  /** Not started when absent. */
  bridge?: ChildCommand;
  /** False: the bridge of the embedded control plane serves no admission. Default true. */
  webhook?: boolean;
  /** Not started when absent. */
  worker?: ChildCommand;
  progress: Progress;
  /**
   * Ends it early: what this call has started is stopped again, what ran before is left alone, and {@link UpInterrupted} is
   * thrown.
   */
  signal?: AbortSignal;
  /** The environment looked at (PATH, KUBECONFIG, XDG_CACHE_HOME). Default the process's own. */
  env?: NodeJS.ProcessEnv;
  /**
   * Asked before anything is changed in the user's own cluster; false stops.
   * Without it the change is reported by a `notice` event and made.
   */
  confirm?: (question: string) => Promise<boolean>;
}

/** What is up. */
export interface UpResult {
  endpoints: Endpoints;
  /** Path of the kubeconfig to use. */
  kubeconfig: string;
  /** Path of a kubectl, when one was found or built. */
  kubectl: string | null;
  /** The processes started by this call; empty when all was up already. */
  started: string[];
  elapsedSeconds: number;
}

/** An `up` that was ended by its signal. */
export class UpInterrupted extends Error {
  override readonly name = 'UpInterrupted';

  /** @param stopped what it had started, and has stopped again */
  constructor(stopped: readonly string[]) {
    super(
      stopped.length === 0
        ? 'interrupted; nothing had been started'
        : `interrupted; what it had started is stopped again: ${stopped.join(', ')}`,
    );
  }
}
