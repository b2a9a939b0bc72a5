/** Configurations of the built-in provider alone, which needs no network. */

/** A resource that notes each creation in a file, and takes a while for it. */
export const noting = (
  name: string,
  scratch: string,
  options: { seconds?: number; after?: string; then?: string } = {},
): string => `
resource "terraform_data" "${name}" {
  ${options.after === undefined ? '' : `depends_on = [terraform_data.${options.after}]`}
  provisioner "local-exec" {
    command = "echo ${name} >> '${scratch}/created'; sleep ${options.seconds ?? 0}; echo ${name} >> '${scratch}/done'${options.then === undefined ? '' : `; ${options.then}`}"
  }
}
`;

/** One that is done at once, and one that takes so many seconds. */
export const firstAndSlow = (scratch: string, seconds: number): string =>
  noting('first', scratch) + noting('slow', scratch, { seconds, after: 'first' });
