// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

/// The algebra of lattice quantum chromodynamics: complex numbers, color vectors, and the matrices of SU(3).
namespace example::lattice {

/// A complex number. std::complex looks for infinities in each product, which takes longer than the product.
struct complex {
  double re = 0;
  double im = 0;

  friend constexpr complex operator+(complex a, complex b) noexcept { return {a.re + b.re, a.im + b.im}; }
  friend constexpr complex operator-(complex a, complex b) noexcept { return {a.re - b.re, a.im - b.im}; }
  friend constexpr complex operator*(complex a, complex b) noexcept {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend constexpr complex operator*(double a, complex b) noexcept { return {a * b.re, a * b.im}; }
};
constexpr complex conjugate(complex a) noexcept { return {a.re, -a.im}; }
constexpr double square(complex a) noexcept { return a.re * a.re + a.im * a.im; }

/// A quark's field at a site, without spin: staggered fermions have none.
using color_vector = std::array<complex, 3>;

/// A link between two sites: rows of a complex matrix, unitary and with determinant 1.
using su3_matrix = std::array<color_vector, 3>;

constexpr su3_matrix identity() noexcept {
  su3_matrix one{};
  for (std::size_t i = 0; i < 3; ++i) one[i][i] = {1, 0};
  return one;
}
constexpr su3_matrix adjoint(su3_matrix const& a) noexcept {
  su3_matrix result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result[i][j] = conjugate(a[j][i]);
  return result;
}
constexpr su3_matrix operator*(double a, su3_matrix const& b) noexcept {
  su3_matrix result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result[i][j] = a * b[i][j];
  return result;
}
constexpr su3_matrix product(su3_matrix const& a, su3_matrix const& b) noexcept {
  su3_matrix result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      result[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
  return result;
}
constexpr complex trace(su3_matrix const& a) noexcept { return a[0][0] + a[1][1] + a[2][2]; }

/// The vector product of two rows: of a unitary matrix with determinant 1, the third row is its conjugate.
constexpr color_vector cross(color_vector const& a, color_vector const& b) noexcept {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
constexpr complex determinant(su3_matrix const& a) noexcept {
  color_vector const c = cross(a[0], a[1]);
  return c[0] * a[2][0] + c[1] * a[2][1] + c[2] * a[2][2];
}
/// The product of a conjugated row and a row.
constexpr complex inner(color_vector const& a, color_vector const& b) noexcept {
  return conjugate(a[0]) * b[0] + conjugate(a[1]) * b[1] + conjugate(a[2]) * b[2];
}

/// The element of SU(3) that Gram and Schmidt's process makes of a matrix whose first two rows are not
/// parallel. MILC: reunitarize.
inline su3_matrix reunitarized(su3_matrix a) noexcept {
  auto const normalize = [](color_vector& row) {
    double const factor = 1 / std::sqrt(inner(row, row).re);
    for (complex& c : row) c = factor * c;
  };
  normalize(a[0]);
  complex const along = inner(a[0], a[1]);
  for (std::size_t i = 0; i < 3; ++i) a[1][i] = a[1][i] - along * a[0][i];
  normalize(a[1]);
  a[2] = cross(a[0], a[1]);
  for (complex& c : a[2]) c = conjugate(c);
  return a;
}

/// Adds a matrix times a vector to `sum`: 72 floating-point operations.
inline void add_product(color_vector& sum, su3_matrix const& a, color_vector const& v) noexcept {
  for (std::size_t i = 0; i < 3; ++i) {
    double re = sum[i].re;
    double im = sum[i].im;
    for (std::size_t j = 0; j < 3; ++j) {
      re += a[i][j].re * v[j].re - a[i][j].im * v[j].im;
      im += a[i][j].re * v[j].im + a[i][j].im * v[j].re;
    }
    sum[i] = {re, im};
  }
}

}  // namespace example::lattice
