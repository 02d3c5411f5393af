/* Private to math_lines.h, math.c and math_trig.c. */
#ifndef ITG_MATH_PARTS_H
#define ITG_MATH_PARTS_H
#include "kernels/clones.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Horner's rule, from the last term down to c[0]. */
ITG_INLINE double polynomial(double x, const double *c, const int count)
{
    double sum = c[count - 1];
    ITG_UNROLL
    for (int i = count - 2; i >= 0; --i) {
        sum = sum * x;
        sum = sum + c[i];
    }
    return sum;
}

#endif
