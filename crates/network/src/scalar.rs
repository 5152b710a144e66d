//! The two number types a network runs in: `f32`, as the model file means it, and `f64`, for
//! derivatives that finite differences can check and for bounds with little rounding.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};
use std::sync::{Arc, OnceLock};

use crate::kernels::{Kernel, Piece, PieceCache};
use crate::network::Constant;
use crate::operator::{Evaluate, Operator};
use crate::workspace::{KeptWorkspaces, Workspaces};

/// A floating-point type that kernels exist for.
pub trait Scalar:
    Copy
    + Debug
    + Display
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The largest finite value.
    const MAX: Self;
    /// Minus infinity, the neutral element of `max`.
    const NEG_INFINITY: Self;
    /// Plus infinity, the neutral element of `min`.
    const INFINITY: Self;
    /// Distance from 1 to the next number; twice the relative error of one rounding.
    const EPSILON: Self;
    /// Whether this is single precision.
    const SINGLE: bool;

    /// Nearest value to a stored weight or constant.
    fn of(value: f64) -> Self;
    /// The value as `f64`, exactly.
    fn f64(self) -> f64;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to the power of `self`.
    fn exp(self) -> Self;
    /// Next representable number towards plus infinity.
    fn next_up(self) -> Self;
    /// Next representable number towards minus infinity.
    fn next_down(self) -> Self;
    /// The tile kernel this machine runs fastest, chosen once at run time.
    fn kernel() -> &'static Kernel<Self>;
    /// An operator in this type.
    fn evaluate(operator: &dyn Operator) -> &dyn Evaluate<Self>;
    /// This type's pieces in a cache.
    fn pieces(cache: &PieceCache) -> &OnceLock<Arc<[Piece<Self>]>>;
    /// This type's copy of a constant.
    fn constant(constant: &Constant) -> &[Self];
    /// This type's buffers among those that a network keeps.
    fn workspaces(kept: &KeptWorkspaces) -> &Workspaces<Self>;
}

macro_rules! scalar {
    ($t:ty, $kernel:path, $width:ident) => {
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MAX: Self = <$t>::MAX;
            const NEG_INFINITY: Self = <$t>::NEG_INFINITY;
            const INFINITY: Self = <$t>::INFINITY;
            const EPSILON: Self = <$t>::EPSILON;
            const SINGLE: bool = size_of::<$t>() == size_of::<f32>();

            #[inline]
            fn of(value: f64) -> Self {
                value as $t
            }
            #[inline]
            fn f64(self) -> f64 {
                f64::from(self)
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            #[inline]
            fn min(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline]
            fn exp(self) -> Self {
                <$t>::exp(self)
            }
            #[inline]
            fn next_up(self) -> Self {
                <$t>::next_up(self)
            }
            #[inline]
            fn next_down(self) -> Self {
                <$t>::next_down(self)
            }
            fn kernel() -> &'static Kernel<Self> {
                $kernel()
            }
            fn evaluate(operator: &dyn Operator) -> &dyn Evaluate<Self> {
                operator
            }
            fn pieces(cache: &PieceCache) -> &OnceLock<Arc<[Piece<Self>]>> {
                cache.$width()
            }
            fn constant(constant: &Constant) -> &[Self] {
                constant.$width()
            }
            fn workspaces(kept: &KeptWorkspaces) -> &Workspaces<Self> {
                &kept.$width
            }
        }
    };
}

scalar!(f32, crate::kernels::f32_kernel, single);
scalar!(f64, crate::kernels::f64_kernel, double);
