/* Writes two.onnx, whose inputs are image [N,3,4,4] and vector [N,3], with images.npy and
 * vectors.npy of 40 samples, and few.npy, vectors of 39. */
#ifndef ITG_TEST_CLI_TWO_INPUTS_H
#define ITG_TEST_CLI_TWO_INPUTS_H
void put_two_inputs(void);
#endif
