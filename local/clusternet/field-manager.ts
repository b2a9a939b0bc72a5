/** Field manager of all that the simulator writes: none of Drover's own, which tests look for. */
export const fieldManager = 'clusternet-simulator';
