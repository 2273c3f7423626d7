// SPDX-License-Identifier: BSL-1.0
// A library that brings OpenMP along.
extern "C" double sum_in_parallel(int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
