import { join } from 'node:path';
import { stringify } from 'yaml';
import { certificateEndpoint } from '../kube/certificate-endpoint.js';
import { createEndpointClient, type KubeClient } from '../kube/client.js';
import { issueCredentials } from './control-plane-credentials.js';
import type { ControlPlaneOptions, ControlPlaneProcess } from './control-plane-options.js';
import { controlPlaneProcesses } from './control-plane-processes.js';
import { stagesFile } from './fake-node/stages.js';
import type { ProcessSpec } from './processes.js';
import { writeWhole } from './state.js';

/** A laid-out control plane: files written, nothing started. */
export interface ControlPlane {
  server: string;
  specs: Record<ControlPlaneProcess, ProcessSpec>;
  /** A client with the administrator's certificate. */
  admin: KubeClient;
  /** Kubeconfig files of our own processes. */
  kubeconfigs: { bridge: string; worker: string; clusternet: string };
}

/** Writes certificates, kubeconfigs and configuration files, and says how to start each process. */
export async function layOutControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { paths, ports } = options;
  const server = `https://127.0.0.1:${ports.apiserver}`;
  const credentials = await issueCredentials(paths, server);
  const schedulerConfig = join(paths.data, 'scheduler.yaml');
  const stages = join(paths.data, 'stages.yaml');
  await writeWhole(schedulerConfig, schedulerConfiguration(credentials.kubeconfigs.scheduler));
  await writeWhole(stages, stagesFile());
  const admin = createEndpointClient(certificateEndpoint({ server, ...credentials.admin }));
  const { bridge, worker, clusternet } = credentials.kubeconfigs;
  return {
    server,
    specs: controlPlaneProcesses(options, { credentials, admin, schedulerConfig, stages }),
    admin,
    kubeconfigs: { bridge, worker, clusternet },
  };
}

function schedulerConfiguration(kubeconfigFile: string): string {
  return stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig: kubeconfigFile, qps: 200, burst: 400 },
  });
}
