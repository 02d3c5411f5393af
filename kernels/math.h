/* exp, log, erf... from basic IEEE operations (+ - * / sqrt, frexp and ldexp on bits): every
 * platform gives the same bits. docs/arithmetic.md states each algorithm and its accuracy; tests
 * check it. */
#ifndef ITG_MATH_H
#define ITG_MATH_H
double itg_exp(double x);
double itg_log(double x);
double itg_log2(double x);
double itg_erf(double x);
double itg_tanh(double x);
double itg_sigmoid(double x);
double itg_log1p(double u); /* log(1 + u), u >= 0 and finite */
double itg_sin(double x);   /* radians, of any size; infinite: NaN */
double itg_cos(double x);
double itg_tan(double x);
double itg_asin(double x); /* outside [-1, 1]: NaN */
double itg_acos(double x);
double itg_atan(double x);
double itg_sinh(double x); /* infinite from 709.79 on, as exp is */
double itg_cosh(double x);
double itg_asinh(double x);
double itg_acosh(double x); /* below 1: NaN */
double itg_atanh(double x); /* outside [-1, 1]: NaN */
double
itg_pow(double x,
        double y); /* exact for y = 2, 0.5 (sqrt), -1, 1, 0, small integers by multiplication */
double itg_sqrt(double x); /* the correctly rounded IEEE operation */
double itg_floor(double x);
double itg_ceil(double x);
double itg_rint(double x); /* to the nearest integer, halves to even */
double itg_frexp(double x, int *exponent);
double itg_ldexp(double x, int exponent);
#endif
