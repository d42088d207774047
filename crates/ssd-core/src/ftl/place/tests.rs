use super::*;

#[test]
fn striping_visits_every_plane_once_and_channels_first() {
    let layout = Layout { channels: 3, chips_per_channel: 2, planes_per_chip: 2 };
    let order: Vec<u32> = (0..12).map(|i| layout.striped(i).0).collect();
    assert_eq!(order, [0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11]);
}

struct Loads([u32; 16]);

impl Planes for Loads {
    fn load(&self, plane: PlaneId) -> u32 {
        self.0[plane.at()]
    }

    fn demand(&self, plane: PlaneId) -> Demand {
        IdlePlanes.demand(plane)
    }

    fn collects(&self, plane: PlaneId) -> bool {
        IdlePlanes.collects(plane)
    }
}

#[test]
fn every_placement_spreads_equal_load_evenly() {
    let layout = Layout { channels: 4, chips_per_channel: 2, planes_per_chip: 2 };
    for info in ALL {
        let mut policy = Placement::build(&PolicySpec::with_defaults(info), &layout);
        let mut seen = [0u32; 16];
        for lpn in 0..160 {
            let now = Loads(seen);
            seen[policy.place(Lpn(lpn), &now).at()] += 1;
        }
        assert_eq!(seen, [10; 16], "{}", info.name);
    }
}
