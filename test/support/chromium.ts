/** Chromium without a screen: what a reader's browser makes of a page. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const LIMIT_MS = 120_000;
/** Whom the browser itself asks, whatever it is told. */
const OWN = /^(https?:\/\/)?(accounts|clients\d)\.google\.com[:/]|^(https?:\/\/)?update\.googleapis\.com[:/]/;

export interface Chromium {
  /** The document as it is once its scripts have run, and every address that the page asked the network for. */
  open(url: string): Promise<{ dom: string; asked: string[] }>;
  /** A picture of the page as PNG. @param size in pixels @param options.wait longest time for the page to be whole, in ms */
  picture(
    url: string,
    file: string,
    size: { width: number; height: number },
    options?: { dark?: boolean; wait?: number },
  ): Promise<void>;
}

/** @throws Error of one line that says what to install */
export function openChromium(): Chromium {
  const program = NAMES.flatMap((name) =>
    (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name)),
  ).find(existsSync);
  if (program === undefined)
    throw new Error('this test needs Chromium: "apt-get install chromium", or Chrome on the PATH');
  return {
    async open(url) {
      const witness = await startWitness();
      try {
        // What is on this machine would pass by otherwise; pages that a test serves itself do.
        const { origin, host } = new URL(url);
        const bypass = ['<-loopback>', ...(origin === 'null' ? [] : [host])].join(';');
        const args = [
          '--dump-dom',
          `--proxy-server=127.0.0.1:${witness.port}`,
          `--proxy-bypass-list=${bypass}`,
        ];
        const dom = await run(program, [...args, url]);
        return { dom, asked: witness.asked.filter((address) => !OWN.test(address)) };
      } finally {
        witness.close();
      }
    },
    async picture(url, file, { width, height }, { dark = false, wait = 10_000 } = {}) {
      const args = [`--screenshot=${file}`, `--window-size=${width},${height}`, '--hide-scrollbars'];
      if (dark) args.push('--force-dark-mode', '--blink-settings=preferredColorScheme=0');
      else args.push('--blink-settings=preferredColorScheme=1');
      await run(program, [...args, `--timeout=${wait}`, url]);
    },
  };
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const profile = await mkdtemp(join(tmpdir(), 'drover-chromium-'));
  const quiet = [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
    // Nothing but what the page asks for.
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ...['--disable-default-apps', '--disable-extensions', '--disable-domain-reliability'],
    ...[
      '--disable-features=OptimizationHints,MediaRouter,Translate',
      '--no-pings',
      `--user-data-dir=${profile}`,
    ],
  ];
  try {
    return await new Promise((resolve, reject) => {
      const options = { timeout: LIMIT_MS, maxBuffer: 64 << 20 };
      execFile(program, [...quiet, ...args], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`Chromium: ${error.message}\n${stderr.slice(-2000)}`));
      });
    });
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A proxy that writes down what it is asked for, and gives nothing. */
async function startWitness(): Promise<{ port: number; asked: string[]; close(): void }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(502).end();
  });
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
