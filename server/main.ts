/** The server: reads its options, opens the store, answers until it is told to stop. */
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createKubeClient } from '../kube/kubeconfig-client.js';
import { authorizePaths, reviewCaller } from '../kube/caller.js';
import { loadKubeConfig } from '../kube/config.js';
import { keyFolder } from '../runtime/encryption/key-folder.js';
import { openKeyRing, type KeyRing } from '../runtime/encryption/key-ring.js';
import { serveHealth } from '../runtime/health-server.js';
import { openProfiles } from '../runtime/profiles/open-profiles.js';
import { createProgramMetrics } from '../runtime/program-metrics.js';
import { runProgram, type ProgramContext } from '../runtime/run-program.js';
import { mintToken } from '../runtime/server-tokens.js';
import { traceRequests } from '../runtime/tracing/requests.js';
import { exemplarsOf } from '../runtime/tracing/trace-fields.js';
import { reviewPersonBy } from './auth/callers.js';
import { SERVER, type ServerConfig } from './config.js';
import { createServerMetrics } from './metrics.js';
import { keepSweeping, openStore } from './open-store.js';
import { createDroverServer } from './server.js';

const CERTIFICATE_MS = 60_000;
const CLOSE_MS = 10_000;

async function run({ config, log, stopped, tracing }: ProgramContext<ServerConfig>): Promise<void> {
  const ring = await openKeyRing({
    source: keyFolder(config['store-keys'] ?? ''),
    onFault: (error) => {
      log.error({ err: error }, 'the keys cannot be read again: those read before stay in use');
    },
  });
  if (config['token-for'] !== undefined) {
    process.stdout.write(`${await mintToken(ring, config['token-for'])}\n`);
    return;
  }
  await serve({ config, log, stopped, tracing }, ring);
}

async function serve(
  { config, log, stopped, tracing }: ProgramContext<ServerConfig>,
  ring: KeyRing,
): Promise<void> {
  const missing = new Set(['starting']);
  const program = createProgramMetrics({
    program: 'server',
    isReady: () => missing.size === 0,
    exemplar: exemplarsOf(config['metrics-exemplars'], tracing),
  });
  const metrics = createServerMetrics(program.registry);
  const probes = await serveHealth({
    host: config['health-host'],
    ports: [config['health-port'], config['metrics-port']].filter((each) => each !== undefined),
    notReady: () => [...missing],
    metrics: program.page,
  });
  const kube = createKubeClient(loadKubeConfig({ file: config.kubeconfig }), {
    onExchange: program.onExchange,
    traceRequest: traceRequests(tracing),
  });
  const profiles = await openProfiles({
    port: config['profile-port'],
    name: 'drover-server',
    authorize: authorizePaths(kube),
    log,
  });
  const { store, lost } = await openStore(config, {
    ring,
    log,
    onWait: (problem) => {
      missing.add(problem);
    },
  });
  const reviewPerson = reviewPersonBy((token, options) => reviewCaller(kube, token, options));
  const tls = await certificateOf(config);
  const server = createDroverServer(
    { store, ring, reviewPerson, log },
    { metrics, ...(tls !== undefined && { tls }) },
  );
  const port = await listen(server, config);
  const told = stopped();
  const timers = [
    keepSweeping({ store, log, metrics, onLook: (problem) => tellReady(missing, problem) }),
    ...(tls === undefined ? [] : [keepCertificate(server as TlsServer, config, log)]),
  ];
  tellReady(missing, undefined);
  log.info({ host: config.host, port, ports: probes.ports, tls: tls !== undefined }, 'server is ready');
  try {
    await Promise.race([told, lost]);
  } finally {
    missing.add('stopping');
    for (const timer of timers) clearInterval(timer);
    await close(server);
    await store.close();
    await Promise.all([probes.close(), profiles.close()]);
  }
}

/** Ready, or what is missing. */
function tellReady(missing: Set<string>, problem: string | undefined): void {
  missing.clear();
  if (problem !== undefined) missing.add(problem);
}

async function certificateOf(config: ServerConfig): Promise<{ cert: string; key: string } | undefined> {
  const { 'tls-cert': cert, 'tls-key': key } = config;
  if (cert === undefined || key === undefined) return undefined;
  return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
}

/** Certificates are renewed under a program. */
function keepCertificate(server: TlsServer, config: ServerConfig, log: Logger): NodeJS.Timeout {
  return setInterval(() => {
    certificateOf(config)
      .then((pair) => {
        if (pair !== undefined) server.setSecureContext(pair);
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the certificate cannot be read again: the one read before stays in use');
      });
  }, CERTIFICATE_MS);
}

async function listen(server: Server, { host, port }: Pick<ServerConfig, 'host' | 'port'>): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Lets requests end that go on, for a while. */
async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}

await runProgram({ program: SERVER, component: 'server', run });
