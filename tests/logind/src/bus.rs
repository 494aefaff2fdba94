//! The bus: each client has a connection of its own to this program, which is the whole bus for it.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tokio::net::{UnixListener, UnixStream};
use zbus::connection::Builder;
use zbus::{Connection, Guid};

use crate::manager::{self, Control, Manager};
use crate::shutdown::Shutdown;

/// The methods of a bus that a client calls before anything else.
struct Bus;

#[zbus::interface(name = "org.freedesktop.DBus")]
impl Bus {
    /// Gives a client its name.
    fn hello(&self) -> String {
        ":1.1".to_owned()
    }

    /// Every client receives all signals anyway.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of a method of a bus are owned")]
    fn add_match(&self, rule: String) {
        let _ = rule;
    }
}

/// Serves clients until killed.
pub(crate) async fn serve(socket: &Path) -> Result<(), Box<dyn Error>> {
    let failed = |error| format!("cannot listen on {}: {error}", socket.display());
    if let Some(folder) = socket.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).map_err(failed)?;
    let shutdown = Arc::new(Shutdown::default());
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(attend(stream, Arc::clone(&shutdown)));
    }
}

/// Serves a client until it disconnects. A client that breaks the protocol loses its connection.
async fn attend(stream: UnixStream, shutdown: Arc<Shutdown>) {
    let served = async {
        Builder::unix_stream(stream.into_std()?)
            .server(Guid::generate())
            .p2p()
            .serve_at("/org/freedesktop/DBus", Bus)
            .serve_at(manager::PATH, Manager::new(Arc::clone(&shutdown)))
            .serve_at(manager::PATH, Control::new(Arc::clone(&shutdown)))
            .build()
            .await
    };
    let Ok(connection) = served.await else { return };
    shutdown.joined(connection.clone());
    connection.closed().await;
    shutdown.forget_the_gone();
}

/// Connects to the program that serves.
pub(crate) async fn connect(socket: &Path) -> zbus::Result<Connection> {
    let stream = UnixStream::connect(socket).await?;
    Builder::unix_stream(stream.into_std()?).p2p().build().await
}
