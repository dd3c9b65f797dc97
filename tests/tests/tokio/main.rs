//! The tokio adapter over real sockets, one file per behaviour. The break matrix and the test that counts what is
//! left afterwards are programs of their own, `tokio_matrix` and `tokio_storm`.

mod backpressure;
mod cancel;
mod deadline;
mod http2;
mod proxy;
mod reuse;
mod typed;
