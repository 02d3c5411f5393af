/* For programs that use the library: the threads of OpenMP sleep while they wait. */
#ifndef ITG_PASSIVE_H
#define ITG_PASSIVE_H

/* Call first in main. Executes the program once more where the runtime reads OMP_WAIT_POLICY only
 * at the start. */
void itg_be_passive(int argc, char **argv);
#endif
