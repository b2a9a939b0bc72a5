/** Configurations of the built-in provider alone, which needs no network. What they do is noted in files of `$SCRATCH`. */

/** A resource that notes when its creation begins and ends, and takes a while for it. */
export const noting = (
  name: string,
  options: { seconds?: number; after?: string; then?: string } = {},
): string => {
  const { seconds = 0, after, then } = options;
  const steps = [
    `echo ${name} >> $SCRATCH/created`,
    ...(seconds === 0 ? [] : [`sleep ${seconds}`]),
    `echo ${name} >> $SCRATCH/done`,
    ...(then === undefined ? [] : [then]),
  ];
  return `
resource "terraform_data" "${name}" {
  ${after === undefined ? '' : `depends_on = [terraform_data.${after}]`}
  provisioner "local-exec" {
    command = ${JSON.stringify(steps.join('; '))}
  }
}
`;
};

/** One that is done at once, and one that takes so many seconds. */
export const firstAndSlow = (seconds: number): string =>
  noting('first') + noting('slow', { seconds, after: 'first' });
