/* Makes waiting OpenMP threads sleep, for programs that use the library. */
#ifndef ITG_PASSIVE_H
#define ITG_PASSIVE_H

/* Call first in main. Executes the program again if the runtime reads OMP_WAIT_POLICY only at the
 * start. */
void itg_be_passive(int argc, char **argv);
#endif
