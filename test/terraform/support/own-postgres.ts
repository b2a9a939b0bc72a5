/** A server of PostgreSQL of a test's own, on a free port of loopback, in a folder that goes with it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../../../runtime/free-port.js';

/** A server that runs. */
export interface OwnPostgres {
  /** Makes an empty database. @returns its address */
  database: () => Promise<string>;
  /** Ends it as a crash does. */
  kill: () => Promise<void>;
  start: () => Promise<void>;
  close: () => Promise<void>;
}

/** Where installers put it, if it is not on the PATH. */
const INSTALLED = [
  '/usr/lib/postgresql',
  '/usr/pgsql-15',
  '/usr/local/pgsql',
  '/opt/homebrew/opt',
  '/usr/local/opt',
];
const START_MS = 30_000;
/** It refuses to run as root: then it runs as nobody. */
const NOBODY = 65_534;

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The folder of its programs. @throws Error, one clear line, where there is none */
async function programs(): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const root of INSTALLED) {
    folders.push(join(root, 'bin'));
    const versions = await readdir(root).catch(() => []);
    folders.push(
      ...versions
        .sort()
        .reverse()
        .map((version) => join(root, version, 'bin')),
    );
  }
  for (const folder of folders) {
    if ((await isThere(join(folder, 'initdb'))) && (await isThere(join(folder, 'postgres')))) return folder;
  }
  throw new Error(
    'no initdb and postgres on the PATH or where they are usually installed: install PostgreSQL 15 to run these tests',
  );
}

/** Starts a server. */
export async function startPostgres(): Promise<OwnPostgres> {
  const bin = await programs();
  const isRoot = process.getuid?.() === 0;
  const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  // Not in the folder of the run, which nobody else may enter.
  const root = await mkdtemp(join('/tmp', 'drover-postgres-'));
  if (isRoot) await chown(root, NOBODY, NOBODY);
  const data = join(root, 'data');
  const options = ['-D', data, '-U', 'drover', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  await promisify(execFile)(join(bin, 'initdb'), options, { ...who, cwd: root });
  const port = await freePort();
  let child: ChildProcess | undefined;

  const addressOf = (database: string): string => `postgres://drover@127.0.0.1:${port}/${database}`;
  async function ask(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: addressOf('postgres') });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  const server: OwnPostgres = {
    async database() {
      const name = `d${randomBytes(6).toString('hex')}`;
      await ask(`CREATE DATABASE ${name}`);
      return addressOf(name);
    },
    async start() {
      const flags = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', '-c', 'fsync=off'];
      child = spawn(join(bin, 'postgres'), flags, { ...who, cwd: root, stdio: 'ignore' });
      const deadline = Date.now() + START_MS;
      for (;;) {
        const error = await ask('SELECT 1').then(
          () => undefined,
          (failure: Error) => failure,
        );
        if (error === undefined) return;
        if (Date.now() > deadline) throw error;
        await sleep(50);
      }
    },
    async kill() {
      if (child === undefined) return;
      const ended = new Promise<void>((resolve) => child!.once('exit', () => resolve()));
      child.kill('SIGKILL');
      await ended;
      child = undefined;
    },
    async close() {
      if (child !== undefined) {
        const ended = new Promise<void>((resolve) => child!.once('exit', () => resolve()));
        // At once, whoever is connected.
        child.kill('SIGQUIT');
        await ended;
      }
      await rm(root, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
