/** Metrics of several sources on one page of OpenMetrics. */

const END = '# EOF\n';
const COUNTER = /^# TYPE (\S+)_total counter$/gm;

/**
 * Puts a page in the older text format of Prometheus behind one of OpenMetrics: there counters are named without their
 * ending where their type and help are told, empty lines are not allowed, and the last line is its end.
 */
export function joinOpenMetrics(page: string, text: string): string {
  const counters = new Set([...text.matchAll(COUNTER)].map(([, name = '']) => name));
  const lines = text
    .split('\n')
    .filter((line) => line !== '' && (!line.startsWith('#') || DESCRIBES.test(line)))
    .map((line) =>
      line.replace(DESCRIBES, (found, what: string, name: string) => {
        const bare = name.replace(/_total$/, '');
        return counters.has(bare) ? `# ${what} ${bare} ` : found;
      }),
    );
  const body = page.endsWith(END) ? page.slice(0, -END.length) : page;
  return `${body}${lines.map((line) => `${line}\n`).join('')}${END}`;
}

const DESCRIBES = /^# (TYPE|HELP) (\S+) /;
