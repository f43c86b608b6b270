// Package perfetto writes what a replay makes of a trace in the form of
// Perfetto (a stream of TracePacket messages), which ui.perfetto.dev and its
// trace processor open.
//
// A CTA is a process and a warp a thread of it. Every wait is a slice on its
// warp; lanes that wait apart from others of their warp get a track of their
// own beside it. Every arrival is an instant, and where its phase releases
// somebody an arrow leads from the arrival that completed it to each of the
// releases. Every barrier has a counter of its pending arrivals. Launches
// stand one after the other.
//
// The numbers of messages and fields are those of Perfetto's public schema
// (protos/perfetto/trace); only what is written here is known.
package perfetto
